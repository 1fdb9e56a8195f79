//! The row template: threads share rows, reductions across lanes, later stages along the row.

pub mod rounds;
pub mod rules;

use serde::{Deserialize, Serialize};
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_graph::text::reader::{Parsed, Reader};
use warpweave_graph::words;

use crate::template::block::BlockSize;

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

/// Bytes of shared memory in which a block of this size combines or finishes rows, at most.
pub fn row_bytes(block_size: BlockSize) -> usize {
    ROW_WORDS * block_size.threads() * WORD_BYTES
}

/// The parameters that come next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<RowThreads> {
    reader.mark("/")?;
    reader.named::<RowThreads>("`warp` or `block`")
}
