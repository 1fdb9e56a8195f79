//! How a contraction's block divides its tile.

use crate::body::GroupBody;
use crate::template::block::{BlockSize, WARP};
use crate::template::contraction::AxisClass;
use crate::template::contraction::Contraction;
use crate::template::contraction::unit::{ComputeUnit, WarpTile};
use crate::template::fill::{fewest, fill};
use serde::{Deserialize, Serialize};
use warpweave_graph::Numerics;

/// Most neighbouring results of a thread: what one access of singles moves, in which results are accumulated.
const NEIGHBOURS: usize = Numerics::SINGLE.access_elements();

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
    /// Parts of the reduction that are summed side by side; see [`warpweave_fusion::template::contraction::split`].
    pub split_k: usize,
    /// What multiplies and adds.
    pub unit: ComputeUnit,
}

impl ContractionShape {
    /// 16 × 16 threads of `rows × columns` elements, 16 steps at a time, in turn.
    pub fn square(rows: usize, columns: usize) -> Self {
        let (column_width, pipeline) = (columns.min(NEIGHBOURS), Pipeline::Unpipelined);
        Self { rows, columns, row_threads: 16, column_width, k_tile: 16, pipeline, split_k: 1, unit: ComputeUnit::Simt }
    }

    /// Whether a kernel can have this shape.
    pub fn is_possible(&self) -> bool {
        let Self { rows, columns, row_threads, column_width, k_tile, pipeline, split_k, unit: ComputeUnit::Simt } =
            *self;
        let buffered = match pipeline {
            Pipeline::Unpipelined | Pipeline::RegisterPrefetch => true,
            Pipeline::Asynchronous { depth } => (2..=5).contains(&depth),
        };
        let thirds = if columns.is_multiple_of(3) { columns / 3 } else { columns };
        let powers = [rows, thirds, row_threads, column_width, k_tile].into_iter().all(usize::is_power_of_two);
        let sides = rows <= 8 && columns <= 12 && (4..=64).contains(&row_threads);
        // Only where there are threads along rows.
        let lanes = || self.warp().covers(row_threads, self.column_threads());
        buffered
            && powers
            && sides
            && lanes()
            && split_k == 1
            && column_width <= NEIGHBOURS
            && columns.is_multiple_of(column_width)
            && (8..=64).contains(&k_tile)
    }

    /// The size of the block.
    pub fn block_size(&self) -> BlockSize {
        BlockSize::default()
    }

    /// Threads along columns.
    pub fn column_threads(&self) -> usize {
        self.block_size().threads() / self.row_threads
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
    }

    /// The row of the block tile that is a thread's `at`-th.
    pub fn row_of(&self, thread: usize, at: usize) -> usize {
        place(self.row_width(), self.row_threads, self.place_of(thread).0, at)
    }

    /// The column of the block tile that is a thread's `at`-th.
    pub fn column_of(&self, thread: usize, at: usize) -> usize {
        place(self.column_width, self.column_threads(), self.place_of(thread).1, at)
    }

    /// Where a thread lies along rows and along columns.
    pub fn place_of(&self, thread: usize) -> (usize, usize) {
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

    /// The tiles that a kernel of this shape may have, each once: filled from the innermost axis outwards, where neighbours lie
    /// side by side, and the one of which the fewest cover the output.
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
