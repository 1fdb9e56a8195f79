//! What multiplies and adds, and how the lanes of a warp share a tile.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::words;

use crate::template::block::WARP;

/// What multiplies and adds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ComputeUnit {
    /// The lanes of a multiprocessor, each on registers of its own.
    Simt,
}

words!(ComputeUnit { Simt => "simt" });

/// How the lanes of a warp lie over the rows and columns of threads. Prints as `2x16`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct WarpTile {
    /// Lanes along rows.
    pub rows: usize,
    /// Lanes along columns.
    pub columns: usize,
}

impl WarpTile {
    /// The tile of warps whose lanes go along columns of threads first.
    pub fn along_columns(column_threads: usize) -> Self {
        let columns = column_threads.clamp(1, WARP);
        Self { rows: WARP / columns, columns }
    }

    /// Whether the warps of a block with so many threads along rows and columns can lie so: all lanes, whole tiles, and lanes
    /// along columns first, as threads are numbered.
    pub fn covers(&self, row_threads: usize, column_threads: usize) -> bool {
        let whole = self.rows > 0 && row_threads.is_multiple_of(self.rows);
        whole && *self == Self::along_columns(column_threads) && self.rows * self.columns == WARP
    }
}

impl fmt::Display for WarpTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}
