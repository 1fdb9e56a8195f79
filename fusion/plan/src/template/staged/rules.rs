//! What kernels of the staged template need and can do.

use crate::body::GroupBody;
use crate::kernel::Kernel;
use crate::template::Staged;
use crate::template::rules::Rules;
use crate::template::rules::require;
use crate::template::staged::STAGED_BYTES;
use crate::template::staged::bytes;
use crate::template::staged::with_states;

impl Rules for Staged {
    fn name(&self) -> &'static str {
        "staged"
    }

    fn check(&self, kernel: &Kernel) -> Result<(), &'static str> {
        let body = kernel.body();
        let boxes = kernel.boxes().ok_or("a staged value has no box")?;
        require(bytes(body, boxes) <= STAGED_BYTES, "staged values do not fit shared memory")?;
        let narrow = (0..body.stages.len()).all(|stage| body.extra_axes(stage).is_empty());
        require(narrow && body.reductions().count() <= 1, "the tile violates the constraints of the staged template")
    }

    fn stages_values(&self) -> bool {
        true
    }

    fn can_tag(&self) -> bool {
        false
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        false
    }

    fn shared_bytes(&self, kernel: &Kernel) -> usize {
        with_states(kernel.body(), self.box_bytes(kernel))
    }

    fn box_bytes(&self, kernel: &Kernel) -> Option<usize> {
        kernel.boxes().map(|boxes| bytes(kernel.body(), boxes))
    }
}
