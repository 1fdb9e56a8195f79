//! What kernels of the attention template need and can do.

use crate::body::GroupBody;
use crate::template::attention::AttentionKernel;
use crate::template::attention::parameters::KeyBlocks;
use crate::template::rules::Rules;
use crate::template::rules::require;
use crate::template::staged::with_states;
use crate::template::tile::ScheduleParams;
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

    fn check(&self, body: &GroupBody, params: &ScheduleParams) -> Result<(), &'static str> {
        require(
            AttentionKernel::of(body, params).is_some(),
            "the tile violates the constraints of the attention template",
        )
    }

    fn takes_tile(&self, body: &GroupBody, params: &ScheduleParams) -> bool {
        AttentionKernel::of(body, params).is_some()
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

    fn shared_bytes(&self, body: &GroupBody, params: &ScheduleParams) -> usize {
        with_states(body, self.box_bytes(body, params))
    }

    fn box_bytes(&self, body: &GroupBody, params: &ScheduleParams) -> Option<usize> {
        AttentionKernel::of(body, params).map(|kernel| kernel.bytes)
    }
}
