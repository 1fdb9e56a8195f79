//! The threads of a block.

/// Threads of a block of the templates that have no other number, see [`Rules::threads`](crate::template::rules::Rules::threads).
pub const BLOCK_THREADS: usize = 256;
/// Warps of a block.
pub const BLOCK_WARPS: usize = BLOCK_THREADS / 32;
/// Lanes of a warp.
pub const WARP: usize = 32;
