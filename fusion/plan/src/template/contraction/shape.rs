//! How a contraction's block divides its tile.

use crate::body::GroupBody;
use crate::template::block::{BlockSize, WARP};
use crate::template::block::{fewest, fill};
use crate::template::contraction::AxisClass;
use crate::template::contraction::Contraction;
use crate::template::contraction::tile_load::WINDOW;
use crate::template::contraction::unit::{ComputeUnit, simt::WarpTile};
use serde::{Deserialize, Serialize};
use warpweave_graph::Numerics;

/// Most neighbouring results of a thread: what one access of singles moves, in which results are accumulated.
pub(super) const NEIGHBOURS: usize = Numerics::SINGLE.access_elements();

/// How a contraction brings the next step's tiles while it multiplies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Pipeline {
    /// Not at all: fetch, meet, multiply, meet.
    Unpipelined,
    /// Loads of the next step into registers, stored to the other of two buffers after multiplying.
    RegisterPrefetch,
    /// Asynchronous copies into one of `depth` buffers, `depth` − 1 steps ahead. A kernel whose factors are not plain
    /// reads that give 0 outside runs as [`Pipeline::RegisterPrefetch`].
    Asynchronous {
        /// Buffers, 2 to 5.
        depth: usize,
    },
}

/// The elements of a thread's tile that it finishes, once all slices have added to them: each slice finishes a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finish {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Slices that divide the columns of the same rows.
    pub column_parts: usize,
}

impl Finish {
    /// The first row and the first column of a thread's tile that a slice finishes.
    pub fn first(&self, slice: usize) -> (usize, usize) {
        (slice / self.column_parts * self.rows, slice % self.column_parts * self.columns)
    }
}

/// How a contraction's block divides its tile. All extents are powers of two, or, of a thread's columns, three times one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ContractionShape {
    /// Rows a thread.
    pub rows: usize,
    /// Columns a thread.
    pub columns: usize,
    /// Threads along rows; the other threads of the block lie along columns.
    pub row_threads: usize,
    /// Neighbouring columns of a thread, which it reads from shared memory at once: 1, 2 or 4, a divisor of `columns`.
    pub column_width: usize,
    /// Steps along the reduction that are in shared memory at a time, at least 8.
    pub k_tile: usize,
    /// How tiles are brought.
    pub pipeline: Pipeline,
    /// Slices of the block's threads, each of which multiplies its part of every step's points; their sums are added through
    /// shared memory. CUTLASS names it sliced-K. A power of two up to 8.
    pub k_slices: usize,
    /// Parts of the reduction that are summed side by side; see [`warpweave_fusion::partition::split`].
    pub split_k: usize,
    /// What multiplies and adds.
    pub unit: ComputeUnit,
}

impl ContractionShape {
    /// 16 × 16 threads of `rows × columns` elements, 16 steps at a time, in turn.
    pub fn square(rows: usize, columns: usize) -> Self {
        let (column_width, pipeline) = (columns.min(NEIGHBOURS), Pipeline::Unpipelined);
        let unit = ComputeUnit::Simt;
        Self { rows, columns, row_threads: 16, column_width, k_tile: 16, pipeline, k_slices: 1, split_k: 1, unit }
    }

    /// Whether a kernel can have this shape.
    pub fn is_possible(&self) -> bool {
        self.unit.takes(self)
    }

    /// The size of the block.
    pub fn block_size(&self) -> BlockSize {
        BlockSize::default()
    }

    /// Whether the block's threads divide into slices.
    pub(super) fn is_sliceable(&self) -> bool {
        self.k_slices > 0 && self.slice_threads() > 0
    }

    /// Threads of a slice, at least a warp.
    pub fn slice_threads(&self) -> usize {
        self.block_size().threads() / self.k_slices
    }

    /// Slices that fetch their own part of every step, and synchronise with no other slice until the sums are added; 1 where the
    /// block fetches together. Slices do so if each is one warp, loads go through registers, and a part has [`WINDOW`] points or
    /// more.
    pub fn fetching_slices(&self) -> usize {
        let is_warp = self.slice_threads() == WARP && self.pipeline == Pipeline::RegisterPrefetch;
        let alone = is_warp && self.k_tile / self.k_slices >= WINDOW;
        if alone { self.k_slices } else { 1 }
    }

    /// Threads of a slice along columns.
    pub fn column_threads(&self) -> usize {
        self.slice_threads() / self.row_threads
    }

    /// What a thread finishes of its sums; `None` if its elements do not divide among the slices.
    pub fn finish(&self) -> Option<Finish> {
        let row_parts = self.rows.min(self.k_slices);
        let column_parts = self.k_slices / row_parts;
        let whole = column_parts == 1 || self.columns.is_multiple_of(column_parts * self.column_width);
        whole.then(|| Finish { rows: self.rows / row_parts, columns: self.columns / column_parts, column_parts })
    }

    /// How the lanes of a warp lie over the threads; warps lie along columns first.
    pub fn warp(&self) -> WarpTile {
        WarpTile::new(self.column_threads(), self.column_width)
    }

    /// Neighbouring rows of a thread, which it reads from shared memory at once.
    pub fn row_width(&self) -> usize {
        self.rows.min(NEIGHBOURS)
    }

    /// Rows, or columns, of the block tile; 1 for other classes of axes.
    pub fn length(&self, class: AxisClass) -> usize {
        match class {
            AxisClass::Row => self.rows * self.row_threads,
            AxisClass::Column => self.columns * self.column_threads(),
            AxisClass::Batch | AxisClass::Reduction => 1,
        }
    }

    /// Bytes of shared memory that the factors' tiles take at most.
    pub fn tile_bytes(&self, numerics: Numerics) -> usize {
        let padding = [AxisClass::Row, AxisClass::Column].len() * numerics.access_elements();
        let row = self.length(AxisClass::Row) + self.length(AxisClass::Column) + padding;
        numerics.storage_bytes(row * self.k_tile * self.buffers())
            + self.slice_sums() * Numerics::SINGLE.storage_bytes(1)
    }

    /// Sums that lie in shared memory at a time: those of half the slices, none of one slice.
    pub fn slice_sums(&self) -> usize {
        if self.k_slices > 1 { self.rows * self.columns * self.block_size().threads() / 2 } else { 0 }
    }

    /// The row of the block tile that is the `at`-th that a thread finishes.
    pub fn row_of(&self, thread: usize, at: usize) -> usize {
        let first = self.finish().map_or(0, |finish| finish.first(thread / self.slice_threads()).0);
        place(self.row_width(), self.row_threads, self.place_of(thread).0, first + at)
    }

    /// The column of the block tile that is the `at`-th that a thread finishes.
    pub fn column_of(&self, thread: usize, at: usize) -> usize {
        let first = self.finish().map_or(0, |finish| finish.first(thread / self.slice_threads()).1);
        place(self.column_width, self.column_threads(), self.place_of(thread).1, first + at)
    }

    /// Where a thread of any slice lies along rows and along columns.
    pub fn place_of(&self, thread: usize) -> (usize, usize) {
        let thread = thread % self.slice_threads();
        let warp = self.warp();
        let (row, column) = warp.place(thread % WARP);
        let along = self.column_threads() / warp.columns;
        let number = thread / WARP;
        (number / along * warp.rows + row, number % along * warp.columns + column)
    }

    /// Buffers in shared memory.
    pub fn buffers(&self) -> usize {
        match self.pipeline {
            Pipeline::Unpipelined => 1,
            Pipeline::RegisterPrefetch => 2,
            Pipeline::Asynchronous { depth } => depth,
        }
    }

    /// The tile of a body's axes: each side filled from the innermost axis outwards.
    pub fn tile(&self, body: &GroupBody, contraction: &Contraction) -> Vec<usize> {
        self.filled(body, contraction, fill)
    }

    /// The tiles that a kernel of this shape may have, each once. One is filled from the innermost axis outwards, where
    /// neighbours lie side by side. The other is the one of which the fewest cover the output.
    pub fn tiles(&self, body: &GroupBody, contraction: &Contraction) -> Vec<Vec<usize>> {
        let mut tiles = vec![self.tile(body, contraction), self.filled(body, contraction, fewest)];
        tiles.dedup();
        tiles
    }

    fn filled(
        &self,
        body: &GroupBody,
        contraction: &Contraction,
        fill: impl Fn(&[usize], &[usize], usize) -> Vec<usize>,
    ) -> Vec<usize> {
        let extents = body.tile_extents();
        let mut tile = vec![1; extents.len()];
        for class in [AxisClass::Row, AxisClass::Column] {
            let axes: Vec<usize> = (0..extents.len()).filter(|&axis| contraction.classes[axis] == class).collect();
            let filled = fill(&extents, &axes, self.length(class));
            axes.into_iter().for_each(|axis| tile[axis] = filled[axis]);
        }
        tile
    }
}

/// Threads lie `width` elements apart; a thread's next run of `width` follows the last thread's.
fn place(width: usize, threads: usize, thread: usize, at: usize) -> usize {
    at / width * (threads * width) + thread * width + at % width
}
