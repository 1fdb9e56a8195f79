//! Tensor cores: a warp multiplies matrices of halves that its lanes hold together, and sums in singles.

use crate::shared_memory::WARP;
use crate::template::contraction::unit::simt::WarpTile;
use crate::tensor_core::fragment::{COLUMNS, FragmentKind, MatrixOperand, ROWS};
use warpweave_graph::Numerics;
use warpweave_graph::types::ElementType;

/// Points of the reduction that one product takes.
pub const DEPTH: usize = FragmentKind::HALVES.depth;

/// How the lanes of a warp lie over the rows and columns of threads: one row and two columns of a product's sums each, and a second row
/// that is [`WarpTile::rows`] below.
pub const LANES: WarpTile = WarpTile { rows: ROWS / LANE_ROWS, columns: COLUMNS / LANE_COLUMNS };

/// Rows of a product's sums that a lane holds.
pub const LANE_ROWS: usize = 2;
/// Neighbouring columns of a product's sums that a lane holds.
pub const LANE_COLUMNS: usize = 2;

/// Most points of a step.
pub(in crate::template::contraction) const MOST_STEP: usize = 128;
/// Most rows of a thread: 64 of a warp.
pub(in crate::template::contraction) const MOST_ROWS: usize = 8;
/// Most columns of a thread: 64 of a warp.
pub(in crate::template::contraction) const MOST_COLUMNS: usize = 16;

/// Whether factors stored and summed in these types can be multiplied.
pub fn multiplies(numerics: Numerics) -> bool {
    matches!(numerics.storage, ElementType::F16 | ElementType::BF16) && numerics.accumulate == ElementType::F32
}

/// The row and the column of threads of a lane: where its first sum lies.
pub fn place(lane: usize) -> (usize, usize) {
    let first = FragmentKind::HALVES.position(MatrixOperand::Sums, lane % WARP, 0, 0);
    (first.row, first.column / LANE_COLUMNS)
}

/// Which of a thread's sums is that of the `row`-th row and the `column`-th column of the thread's tile, of so many columns: product by
/// product, row by row of products, and within a product register by register.
pub fn sum(row: usize, column: usize, columns: usize) -> usize {
    let product = row / LANE_ROWS * (columns / LANE_COLUMNS) + column / LANE_COLUMNS;
    product * LANE_ROWS * LANE_COLUMNS + row % LANE_ROWS * LANE_COLUMNS + column % LANE_COLUMNS
}
