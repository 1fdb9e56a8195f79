//! What a sort costs: a bitonic network over pairs of key and place, of which a block holds [`CHUNK`] in shared memory.

use crate::template::block::BlockSize;
use crate::template::opaque::RowWork;
use warpweave_graph::numerics::WORD_BYTES;

/// Pairs that a block holds in shared memory.
pub const CHUNK: usize = 1 << 12;

/// The work of a row of this length.
pub(super) fn of_row(length: usize, block_size: BlockSize) -> RowWork {
    let padded = length.next_power_of_two().max(2);
    let (levels, inner) = (padded.trailing_zeros(), padded.min(CHUNK).trailing_zeros());
    // Level l of the network has l steps, of which those over short distances stay in a chunk.
    let all = levels * (levels + 1) / 2;
    let outer = (levels - inner) * (levels - inner + 1) / 2;
    let chunk = padded.min(CHUNK);
    let rounds = |places: usize| (places / 2).div_ceil(block_size.threads()) as f64;
    // Chunks beyond the row are left out.
    let chunks = length.div_ceil(chunk).max(1) as f64;
    // Between the steps over long distances, chunks are brought and written back.
    let moved = if levels > inner { f64::from(2 * (levels - inner) + 1) * 2.0 * rounds(length) } else { 0.0 };
    RowWork {
        evaluations: length as f64,
        shared_steps: f64::from(all - outer) * rounds(chunk) * chunks,
        global_steps: f64::from(outer) * rounds(length) + moved,
        barriers: f64::from(all - outer) * chunks + f64::from(outer),
        shared_bytes: 2 * WORD_BYTES * chunk,
        length: length as f64,
        sequential: length as f64 * (length.max(2) as f64).log2(),
    }
}
