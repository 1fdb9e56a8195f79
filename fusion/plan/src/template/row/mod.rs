//! The row template: threads share rows, reductions across lanes, later stages along the row.

pub mod rounds;

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_graph::text::reader::{Parsed, Reader};
use warpweave_graph::{text::reader::Word, words};

use crate::body::GroupBody;
use crate::template::block::BLOCK_THREADS;
use crate::template::rules::Rules;
use crate::template::tile::ScheduleParams;

/// How many threads share a row of the row template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum RowThreads {
    /// A warp a row, as many rows a tile as the block has warps.
    Warp,
    /// The whole block, one row a tile.
    Block,
}

words!(RowThreads { Warp => "warp", Block => "block" });

/// Words of shared memory a thread in which rows are combined or finished, at most.
const ROW_WORDS: usize = 8;
/// Bytes of shared memory in which rows are combined or finished, at most.
pub const ROW_BYTES: usize = ROW_WORDS * BLOCK_THREADS * WORD_BYTES;

impl Rules for RowThreads {
    fn name(&self) -> &'static str {
        "row"
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name(), self.word())
    }

    fn check(&self, _: &GroupBody, _: &ScheduleParams) -> Result<(), &'static str> {
        Ok(())
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, _: &GroupBody, _: &ScheduleParams) -> usize {
        ROW_BYTES
    }

    fn may_hold_residents(&self) -> bool {
        true
    }
}

/// The parameters that come next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<RowThreads> {
    reader.mark("/")?;
    reader.named::<RowThreads>("`warp` or `block`")
}
