//! How a contraction's block divides its tile.

use std::fmt;

use crate::body::GroupBody;
use crate::template::block::{BlockSize, WARP};
use crate::template::block::{fewest, fill};
use crate::template::contraction::AxisClass;
use crate::template::contraction::Contraction;
use crate::template::contraction::tile_load::WINDOW;
use crate::template::contraction::unit::{ComputeUnit, mma, simt::WarpTile};
use serde::{Deserialize, Serialize};
use warpweave_graph::Numerics;
use warpweave_graph::text::reader::{Parsed, Reader, Word};

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
    /// reads that give 0 outside runs as [`Pipeline::RegisterPrefetch`]; on tensor cores a factor that is one is copied to the other
    /// buffer meanwhile.
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
    /// Parts of the reduction that are summed side by side.
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
        match self.unit {
            ComputeUnit::Simt => self.is_possible_on_lanes(),
            ComputeUnit::Mma => self.is_possible_on_tensor_cores(),
        }
    }

    fn is_possible_on_lanes(&self) -> bool {
        let Self { rows, columns, row_threads, column_width, k_tile, k_slices, .. } = *self;
        let sides = rows <= 8 && columns <= 12 && (4..=64).contains(&row_threads);
        column_width.is_power_of_two()
            && sides
            && column_width <= NEIGHBOURS
            && columns.is_multiple_of(column_width)
            && (8..=64).contains(&k_tile)
            && self.divides(k_slices)
    }

    fn is_possible_on_tensor_cores(&self) -> bool {
        let Self { rows, columns, column_width, k_tile, k_slices, .. } = *self;
        (mma::LANE_ROWS..=mma::MOST_ROWS).contains(&rows)
            && (mma::LANE_COLUMNS..=mma::MOST_COLUMNS).contains(&columns)
            && columns.is_multiple_of(mma::LANE_COLUMNS)
            && column_width == mma::LANE_COLUMNS
            && (mma::DEPTH..=mma::MOST_STEP).contains(&k_tile)
            && self.divides(k_slices.saturating_mul(mma::DEPTH))
    }

    /// Whether extents are powers of two, or three times one, the block's threads divide into slices and whole warps, and a step's
    /// points into `points`.
    fn divides(&self, points: usize) -> bool {
        let Self { rows, columns, row_threads, k_tile, k_slices, split_k, .. } = *self;
        let buffered = match self.pipeline {
            Pipeline::Unpipelined | Pipeline::RegisterPrefetch => true,
            Pipeline::Asynchronous { depth } => (2..=5).contains(&depth),
        };
        let thirds = if columns.is_multiple_of(3) { columns / 3 } else { columns };
        let powers = [rows, thirds, row_threads, k_tile, k_slices].into_iter().all(usize::is_power_of_two);
        // Only where there are threads along rows.
        let lanes = || self.slice_threads() >= row_threads && self.warp().covers(row_threads, self.column_threads());
        let slices = || k_slices <= 8 && k_tile.is_multiple_of(points) && self.finish().is_some();
        buffered && powers && slices() && lanes() && split_k == 1
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

    /// Points of a step that a slice multiplies.
    pub fn slice_points(&self) -> usize {
        self.k_tile / self.k_slices
    }

    /// Points of the reduction by which a warp loads its factors ahead of where it multiplies them: those of one product of matrices,
    /// so that tensor cores multiply while all meet and the next factors arrive. 0 where a step is one product, and where nothing is
    /// fetched meanwhile.
    pub fn points_ahead(&self) -> usize {
        let is_ahead = self.unit == ComputeUnit::Mma && self.pipeline != Pipeline::Unpipelined;
        if is_ahead && self.slice_points().is_multiple_of(2 * mma::DEPTH) { mma::DEPTH } else { 0 }
    }

    /// Slices that fetch their own part of every step, and synchronise with no other slice until the sums are added; 1 where the
    /// block fetches together. Slices do so if each is one warp, loads go through registers, and a part has [`WINDOW`] points or
    /// more.
    pub fn fetching_slices(&self) -> usize {
        let is_warp = self.slice_threads() == WARP && self.pipeline == Pipeline::RegisterPrefetch;
        let alone = is_warp && self.unit == ComputeUnit::Simt && self.slice_points() >= WINDOW;
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
        self.unit.warp(self.column_threads(), self.column_width)
    }

    /// Neighbouring rows of a thread, which it reads from shared memory at once.
    pub fn row_width(&self) -> usize {
        match self.unit {
            ComputeUnit::Simt => self.rows.min(NEIGHBOURS),
            ComputeUnit::Mma => 1,
        }
    }

    /// Which of a thread's sums is that of the `row`-th row and the `column`-th column of its tile.
    pub fn sum(&self, row: usize, column: usize) -> usize {
        match self.unit {
            ComputeUnit::Simt => row * self.columns + column,
            ComputeUnit::Mma => mma::sum(row, column, self.columns),
        }
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
        let padding = numerics.access_elements();
        let of_side = |class: AxisClass| match self.unit {
            ComputeUnit::Simt => (self.length(class) + padding) * self.k_tile,
            ComputeUnit::Mma => self.length(class) * self.k_tile + padding * self.length(class).max(self.k_tile),
        };
        let step = of_side(AxisClass::Row) + of_side(AxisClass::Column);
        numerics.storage_bytes(step * self.buffers()) + self.slice_sums() * Numerics::SINGLE.storage_bytes(1)
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
        let (row, column) = self.unit.place(warp, thread % WARP);
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

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unpipelined => write!(f, "unpipelined"),
            Self::RegisterPrefetch => write!(f, "register-prefetch"),
            Self::Asynchronous { depth } => write!(f, "asynchronous/{depth}"),
        }
    }
}

impl fmt::Display for ContractionShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, row_threads, column_width, k_tile, pipeline, k_slices, split_k, unit } = self;
        write!(f, "contraction/{rows}x{columns} {} threads {row_threads}x{}", unit.word(), self.column_threads())?;
        write!(f, " warp {}", self.warp())?;
        write!(f, " width {column_width} k-tile {k_tile} {pipeline}")?;
        if *k_slices != 1 {
            write!(f, " k-slices {k_slices}")?;
        }
        if *split_k == 1 { Ok(()) } else { write!(f, " split-k {split_k}") }
    }
}

/// The shape that comes next.
pub(crate) fn read(reader: &mut Reader<'_>) -> Parsed<ContractionShape> {
    reader.mark("/")?;
    let [rows, columns] = pair(reader, "rows and columns")?;
    let unit = reader.named::<ComputeUnit>("`simt` or `mma`")?;
    reader.keyword("threads")?;
    let before = reader.clone();
    let [row_threads, column_threads] = pair(reader, "threads along rows and columns")?;
    reader.keyword("warp")?;
    let [warp_rows, warp_columns] = pair(reader, "lanes of a warp along rows and columns")?;
    reader.keyword("width")?;
    let column_width = reader.integer("neighbouring columns")?;
    reader.mark("k-tile")?;
    let k_tile = reader.integer("points of the reduction")?;
    let pipeline = pipeline(reader)?;
    let k_slices = if reader.eat("k-slices") { reader.integer("slices of the block's threads")? } else { 1 };
    let split_k = if reader.eat("split-k") { reader.integer("parts of the reduction")? } else { 1 };
    let shape =
        ContractionShape { rows, columns, row_threads, column_width, k_tile, pipeline, k_slices, split_k, unit };
    let warp = WarpTile { rows: warp_rows, columns: warp_columns };
    if row_threads == 0 || !shape.is_sliceable() || shape.column_threads() != column_threads || shape.warp() != warp {
        return Err(before.expected("the threads of a block"));
    }
    Ok(shape)
}

fn pipeline(reader: &mut Reader<'_>) -> Parsed<Pipeline> {
    if reader.eat_word("unpipelined") {
        return Ok(Pipeline::Unpipelined);
    }
    if reader.eat("register-prefetch") {
        return Ok(Pipeline::RegisterPrefetch);
    }
    if reader.eat_word("asynchronous") {
        reader.mark("/")?;
        return Ok(Pipeline::Asynchronous { depth: reader.integer("buffers")? });
    }
    Err(reader.expected("`unpipelined`, `register-prefetch` or `asynchronous`"))
}

fn pair(reader: &mut Reader<'_>, what: &str) -> Parsed<[usize; 2]> {
    let before = reader.clone();
    reader.extents(what)?.try_into().map_err(|_| before.expected(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor_core::fragment::{FragmentKind, MatrixOperand};
    use std::collections::BTreeSet;

    #[test]
    fn sums_lie_where_products_leave_them() {
        let square = ContractionShape::square(4, 12);
        let shape = ContractionShape {
            unit: ComputeUnit::Mma,
            column_width: mma::LANE_COLUMNS,
            row_threads: 16,
            pipeline: Pipeline::Asynchronous { depth: 3 },
            ..square
        };
        assert!(shape.is_possible());
        let of_product = FragmentKind::HALVES.registers(MatrixOperand::Sums);
        let mut all = BTreeSet::new();
        for thread in 0..shape.block_size().threads() {
            let (lane, warp) = (thread % WARP, shape.place_of(thread / WARP * WARP));
            for (row, column) in (0..shape.rows).flat_map(|row| (0..shape.columns).map(move |column| (row, column))) {
                let at = shape.sum(row, column);
                let (product, register) = (at / of_product, at % of_product);
                let (down, along) = (product / (shape.columns / 2), product % (shape.columns / 2));
                let position = FragmentKind::HALVES.position(MatrixOperand::Sums, lane, register, 0);
                let found = (shape.row_of(thread, row), shape.column_of(thread, column));
                // The upper and the lower half of a product's rows are as far apart as all threads' rows are many.
                let half = 2 * down + position.row / mma::LANES.rows;
                let row = half * shape.row_threads + warp.0 + position.row % mma::LANES.rows;
                let column = (along * shape.column_threads() + warp.1) * mma::LANE_COLUMNS + position.column;
                assert_eq!(found, (row, column), "thread {thread}");
                all.insert(found);
            }
        }
        assert_eq!(all.len(), shape.length(AxisClass::Row) * shape.length(AxisClass::Column));
    }
}
