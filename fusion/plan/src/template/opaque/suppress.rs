//! What a greedy suppression costs: a warp's width of places at a time against all before them that stay.

use crate::template::block::BlockSize;
use crate::template::opaque::RowWork;
use warpweave_graph::numerics::WORD_BYTES;

/// Places that are looked at together.
const BATCH: f64 = 32.0;

/// The work of a row of this length of which at most `most` places stay, as if as many did.
pub(super) fn of_row(length: usize, most: u64, block_size: BlockSize) -> RowWork {
    let count = length as f64;
    let staying = count.min(most as f64);
    let batches = (count / BATCH).ceil();
    // A place is compared with those before it that stay.
    let pairs = staying * (count - staying / 2.0);
    RowWork {
        evaluations: pairs + count,
        shared_steps: batches * (BATCH + batches / (2.0 * block_size.warps() as f64)),
        global_steps: 0.0,
        barriers: 3.0 * batches,
        shared_bytes: WORD_BYTES * (block_size.threads() + 32 + length.div_ceil(32)),
        length: count,
        sequential: count,
    }
}
