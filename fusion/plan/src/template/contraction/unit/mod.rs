//! The units that multiply and add: a file a unit.

pub mod mma;
pub mod simt;

use serde::{Deserialize, Serialize};
use warpweave_graph::{Numerics, words};

use crate::template::contraction::unit::simt::WarpTile;

/// What multiplies and adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ComputeUnit {
    /// The lanes of a multiprocessor, each on registers of its own.
    Simt,
    /// The tensor cores of a multiprocessor, on registers of whole warps: PTX's `mma`.
    Mma,
}

words!(ComputeUnit {
    Simt => "simt",
    Mma => "mma",
});

impl ComputeUnit {
    /// Whether it multiplies and sums in these types. Its factors lie in shared memory as they are stored.
    pub fn multiplies(self, numerics: Numerics) -> bool {
        match self {
            Self::Simt => true,
            Self::Mma => mma::multiplies(numerics),
        }
    }

    /// How the lanes of a warp lie over the threads of a block with so many threads along columns, each with runs of `column_width`.
    pub(super) fn warp(self, column_threads: usize, column_width: usize) -> WarpTile {
        match self {
            Self::Simt => WarpTile::new(column_threads, column_width),
            Self::Mma => mma::LANES,
        }
    }

    /// The row and the column of threads of a lane of such a warp.
    pub(super) fn place(self, warp: WarpTile, lane: usize) -> (usize, usize) {
        match self {
            Self::Simt => warp.place(lane),
            Self::Mma => mma::place(lane),
        }
    }
}
