//! What kernels of procedures need and can do.

use crate::body::GroupBody;
use crate::kernel::Kernel;
use crate::template::Opaque;
use crate::template::opaque::row_bytes;
use crate::template::rules::Rules;
use crate::template::staged::ARRAY_ALIGNMENT;
use crate::template::staged::STATES;

impl Rules for Opaque {
    fn name(&self) -> &'static str {
        "opaque"
    }

    fn check(&self, _: &Kernel) -> Result<(), &'static str> {
        Ok(())
    }

    fn takes_tile(&self, kernel: &Kernel) -> bool {
        kernel.tile().iter().all(|extent| *extent == 1)
    }

    fn computes_procedures(&self) -> bool {
        true
    }

    fn can_tag(&self) -> bool {
        false
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        false
    }

    fn shared_bytes(&self, kernel: &Kernel) -> usize {
        row_bytes(kernel.body()) + ARRAY_ALIGNMENT * STATES
    }
}
