//! What pointwise kernels need and can do.

use crate::body::GroupBody;
use crate::template::pointwise::Pointwise;
use crate::template::row::row_bytes;
use crate::template::rules::Rules;
use crate::template::rules::require;
use crate::template::tile::ScheduleParams;
use std::fmt;

impl Rules for Pointwise {
    fn name(&self) -> &'static str {
        "pointwise"
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name(), self.per_thread)
    }

    fn is_sound(&self) -> bool {
        self.per_thread > 0
    }

    fn check(&self, _: &GroupBody, _: &ScheduleParams) -> Result<(), &'static str> {
        require((1..=64).contains(&self.per_thread), "a template is impossible")
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, _: &GroupBody, _: &ScheduleParams) -> usize {
        row_bytes(self.block_size())
    }
}
