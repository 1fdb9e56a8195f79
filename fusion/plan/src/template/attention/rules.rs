//! What kernels of the attention template need and can do.

use crate::body::GroupBody;
use crate::kernel::Kernel;
use crate::template::attention::AttentionGeometry;
use crate::template::attention::parameters::KeyBlocks;
use crate::template::rules::Rules;
use crate::template::rules::require;
use crate::template::staged::with_states;
use std::fmt;

impl Rules for KeyBlocks {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name(), self.keys)
    }

    fn is_sound(&self) -> bool {
        self.keys > 0
    }

    fn check(&self, kernel: &Kernel) -> Result<(), &'static str> {
        require(AttentionGeometry::of(kernel).is_some(), "the tile violates the constraints of the attention template")
    }

    fn takes_tile(&self, kernel: &Kernel) -> bool {
        AttentionGeometry::of(kernel).is_some()
    }

    fn stages_values(&self) -> bool {
        true
    }

    fn is_for_products(&self) -> bool {
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
        AttentionGeometry::of(kernel).map(|geometry| geometry.bytes)
    }
}
