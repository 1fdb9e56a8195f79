//! What kernels of the row template need and can do.

use crate::body::GroupBody;
use crate::kernel::{Kernel, ScheduleParams};
use crate::template::Template;
use crate::template::row::RowThreads;
use crate::template::row::row_bytes;
use crate::template::rules::Rules;
use std::fmt;

use warpweave_graph::text::reader::Word;

impl Rules for RowThreads {
    fn name(&self) -> &'static str {
        "row"
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name(), self.word())
    }

    fn check(&self, _: &Kernel) -> Result<(), &'static str> {
        Ok(())
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, _: &Kernel) -> usize {
        row_bytes(self.block_size())
    }

    fn may_hold_residents(&self) -> bool {
        true
    }
}

/// The parameters under which each warp of a block takes a row of a tile at a time.
pub fn by_warps(tile: Vec<usize>) -> ScheduleParams {
    ScheduleParams { template: Template::Row(RowThreads::Warp), tile }
}
