//! The threads of a block.

/// How many threads a block has: whole warps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockSize {
    warps: usize,
}

impl BlockSize {
    /// Threads of the block.
    pub fn threads(self) -> usize {
        self.warps * WARP
    }

    /// Warps of the block.
    pub fn warps(self) -> usize {
        self.warps
    }
}

/// The size of a template's blocks where it names none, see [`Rules::block_size`](crate::template::rules::Rules::block_size).
impl Default for BlockSize {
    fn default() -> Self {
        Self { warps: 8 }
    }
}

/// Lanes of a warp.
pub const WARP: usize = 32;
