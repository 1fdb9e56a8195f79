//! The lanes of a multiprocessor, and how those of a warp share a tile.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::template::block::WARP;

/// How the lanes of a warp lie over the rows and columns of threads. Prints as `2x16`.
///
/// Where a warp has several rows and several columns of lanes, lane n and n ^ 1 share a row and lane n and n ^ 2 share
/// a column. So both factors' wide loads go through shared memory as in [`crate::shared_memory::lanes_together`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct WarpTile {
    /// Lanes along rows.
    pub rows: usize,
    /// Lanes along columns.
    pub columns: usize,
}

/// Lanes along columns where a lane loads several columns at once: twice as many as are served together.
const WIDE_COLUMNS: usize = 8;

impl WarpTile {
    /// The tile of warps in a block with so many threads along columns, each of which loads `column_width` columns at
    /// once.
    ///
    /// Of single columns, which lie in one row of memory each, as many lanes as there are lie along columns. Of several
    /// columns at once, the tile is as square as possible.
    pub fn new(column_threads: usize, column_width: usize) -> Self {
        let most = if column_width == 1 { WARP } else { WIDE_COLUMNS };
        let columns = column_threads.clamp(1, most);
        Self { rows: WARP / columns, columns }
    }

    /// Whether the warps of a block with so many threads along rows and columns can lie so: all lanes, and whole tiles.
    pub fn covers(&self, row_threads: usize, column_threads: usize) -> bool {
        let whole = |threads: usize, lanes: usize| lanes > 0 && threads.is_multiple_of(lanes);
        whole(row_threads, self.rows) && whole(column_threads, self.columns) && self.rows * self.columns == WARP
    }

    /// Whether neighbouring lanes go along both directions in turn; along columns first otherwise.
    pub fn is_interleaved(&self) -> bool {
        self.rows > 1 && self.columns > 1
    }

    /// The row and the column of threads of a lane.
    pub fn place(&self, lane: usize) -> (usize, usize) {
        if !self.is_interleaved() {
            return (lane / self.columns, lane % self.columns);
        }
        let column = lane & 1 | lane >> 1 & (self.columns - 2);
        let row = lane >> 1 & 1 | lane >> self.columns.ilog2() & (self.rows - 2);
        (row, column)
    }
}

impl fmt::Display for WarpTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::{SharedWidth, lanes_together};

    #[test]
    fn each_lane_has_a_place_and_both_factors_are_served_together() {
        for column_threads in [4, 8, 16, 32, 64] {
            let warp = WarpTile::new(column_threads, 4);
            let places: Vec<(usize, usize)> = (0..WARP).map(|lane| warp.place(lane)).collect();
            let mut sorted = places.clone();
            sorted.sort_unstable();
            let all = (0..warp.rows).flat_map(|row| (0..warp.columns).map(move |column| (row, column)));
            assert_eq!(sorted, all.collect::<Vec<_>>(), "{warp}");
            let rows: Vec<Option<usize>> = places.iter().map(|place| Some(place.0)).collect();
            let columns: Vec<Option<usize>> = places.iter().map(|place| Some(place.1)).collect();
            for side in [rows, columns] {
                assert_eq!(lanes_together(&side, SharedWidth::FourWords), WARP / 2, "{warp}");
            }
        }
    }
}
