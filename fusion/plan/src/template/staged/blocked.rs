//! Sums of products by blocks of rows and columns a thread, straight from where the factors lie.

use warpweave_graph::expr::{AxisId, Index, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::{ElementType, Numerics};

use crate::template::block::{BlockSize, WARP};
use crate::template::contraction::{AxisClass, Contraction};

/// Steps of the innermost reduced axis that a thread takes at a time, at least, where its extent is a multiple of them;
/// elements of a wide load.
pub const WRITTEN_OUT: usize = Numerics::SINGLE.access_elements();
/// Elements of a factor that a thread fetches of memory ahead, at most: they take registers. Of more, none are fetched ahead.
const MOST_AHEAD: usize = 32;
/// Steps that a thread takes at a time where all that it fetches of memory ahead fits in registers, longest first.
const LONG_TRIPS: [usize; 2] = [16, 8];
/// Banks of shared memory, and words of a line of the first-level cache.
const LINE: usize = 32;

/// Extents of a contraction's box by class of axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sides {
    /// Points of the batch axes.
    pub batch: usize,
    /// Points of the row axes.
    pub rows: usize,
    /// Points of the column axes.
    pub columns: usize,
}

impl Sides {
    /// The sides of a box with one extent a parallel axis.
    pub fn of(expr: &TensorExpr, contraction: &Contraction, extents: &[usize]) -> Self {
        let side = |class: AxisClass| -> usize {
            let own = expr.parallel().zip(extents);
            own.filter(|(axis, _)| contraction.class(*axis) == class).map(|(_, extent)| extent).product()
        };
        Self { batch: side(AxisClass::Batch), rows: side(AxisClass::Row), columns: side(AxisClass::Column) }
    }
}

/// Along which side of its box neighbouring threads take neighbouring blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Across {
    /// Columns, where results lie side by side.
    Columns,
    /// Rows: fewer of the columns are fetched at a time.
    Rows,
}

/// The work of a phase under a block a thread, for one step of the reduction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlockedStep {
    /// Rows a thread.
    pub rows: usize,
    /// Columns a thread.
    pub columns: usize,
    /// How threads lie.
    pub across: Across,
    /// How often the threads of the block go through the reduction to cover the box.
    pub trips: usize,
    /// Cycles: the slower of the instructions of the busiest scheduler and the wavefronts of all warps' loads.
    pub cycles: f64,
}

/// Steps of the innermost reduced axis that a trip takes, from its extent and from the elements of both factors that a step
/// fetches of memory. The latency of memory passes once a trip.
pub fn steps_a_trip(extent: usize, fetched: [usize; 2]) -> usize {
    let elements: usize = fetched.iter().sum();
    let fits = |steps: &usize| extent.is_multiple_of(*steps) && elements * steps <= MOST_AHEAD;
    LONG_TRIPS.into_iter().filter(|_| elements > 0).find(fits).unwrap_or(WRITTEN_OUT)
}

/// Whether a factor is fetched ahead of which a step fetches so many elements of memory.
pub fn is_fetched_ahead(elements: usize) -> bool {
    elements * WRITTEN_OUT <= MOST_AHEAD
}

/// The cheapest of a few blocks for a box and of these ways across it, if the expression is a contraction of more than one
/// element.
pub fn step(expr: &TensorExpr, extents: &[usize], across: &[Across], block_size: BlockSize) -> Option<BlockedStep> {
    cheapest(steps(expr, extents, across, block_size)?)
}

/// The cheapest of those that cover the box of what leaves a group in one trip, so that each thread may keep its block.
pub fn one_trip(expr: &TensorExpr, extents: &[usize], block_size: BlockSize) -> Option<BlockedStep> {
    cheapest(steps(expr, extents, &[Across::Columns], block_size)?.into_iter().filter(|step| step.trips == 1))
}

fn cheapest(steps: impl IntoIterator<Item = BlockedStep>) -> Option<BlockedStep> {
    let cycles = |step: &BlockedStep| step.trips as f64 * step.cycles;
    steps.into_iter().min_by(|a, b| cycles(a).total_cmp(&cycles(b)))
}

/// The prices of all blocks, if the expression is a contraction of more than one element.
fn steps(expr: &TensorExpr, extents: &[usize], across: &[Across], block_size: BlockSize) -> Option<Vec<BlockedStep>> {
    let contraction = Contraction::of_expression(expr).filter(|found| found.element == ElementType::F32)?;
    let sides = Sides::of(expr, &contraction, extents);
    let choices = [(4, 4), (4, 2), (2, 4), (2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1)];
    let loads = [AxisClass::Row, AxisClass::Column].map(|side| SideLoads::of(expr, &contraction, side));
    let loads = &loads;
    let priced = across.iter().flat_map(|&across| {
        choices.into_iter().map(move |(rows, columns)| price(loads, sides, [rows, columns], across, block_size))
    });
    (sides.rows * sides.columns > 1).then(|| priced.collect())
}

fn price(
    loads: &[SideLoads; 2],
    sides: Sides,
    [rows, columns]: [usize; 2],
    across: Across,
    block_size: BlockSize,
) -> BlockedStep {
    let (row_blocks, column_blocks) = (sides.rows.div_ceil(rows), sides.columns.div_ceil(columns));
    let blocks = sides.batch * row_blocks * column_blocks;
    let busy = blocks.min(block_size.threads()).div_ceil(WARP);
    let [of_rows, of_columns] = loads;
    let instructions =
        (rows * columns) as f64 + of_rows.instructions * rows as f64 + of_columns.instructions * columns as f64;
    let neighbours = |own: usize| (own.min(WARP), WARP.div_ceil(own.min(WARP)));
    let (row_lanes, column_lanes) = match across {
        Across::Columns => {
            let (columns, rows) = neighbours(column_blocks);
            (rows, columns)
        }
        Across::Rows => neighbours(row_blocks),
    };
    let loads = of_rows.wavefronts(row_lanes) * rows as f64 + of_columns.wavefronts(column_lanes) * columns as f64;
    let cycles = (busy.div_ceil(4) as f64 * instructions).max(busy as f64 * loads);
    BlockedStep { rows, columns, across, trips: blocks.div_ceil(block_size.threads()), cycles }
}

/// What bringing a factor for one row, or one column, takes at one step.
struct SideLoads {
    /// Instructions of a thread. What does not change from step to step is computed before. So a read is an addition,
    /// an address and a load, with the moves of the memory's descriptor where it is in memory. A guard is a comparison
    /// or two more.
    instructions: f64,
    reads: Vec<SideRead>,
}

/// A read of a factor.
struct SideRead {
    /// Whether four steps are loaded at once.
    wide: bool,
    /// Elements from one row, or column, to the next.
    stride: usize,
}

impl SideLoads {
    fn of(expr: &TensorExpr, contraction: &Contraction, side: AxisClass) -> Self {
        let innermost = expr.parallel().filter(|axis| contraction.class(*axis) == side).last();
        let factor = contraction.factor(side);
        let mut loads = Self { instructions: factor.operations() as f64, reads: Vec::new() };
        for read in reads(factor) {
            let read = &expr.reads[read];
            let index = dense(expr, read);
            let wide = is_wide(expr, read, &index);
            let stride = innermost.map_or(0, |axis| index.coefficient(axis).unsigned_abs() as usize);
            loads.instructions += if wide { 5.0 / WRITTEN_OUT as f64 } else { 3.5 };
            loads.instructions += 3.0 * read.guard.conditions().len() as f64;
            loads.reads.push(SideRead { wide, stride });
        }
        loads
    }

    /// Wavefronts with which a warp loads one element a lane, where its lanes hold this many neighbours of the side.
    fn wavefronts(&self, neighbours: usize) -> f64 {
        self.reads.iter().map(|read| read.wavefronts(neighbours)).sum()
    }
}

impl SideRead {
    fn wavefronts(&self, neighbours: usize) -> f64 {
        if self.wide {
            // Each neighbour's four words lie side by side; eight neighbours' fill a line's worth of banks.
            let lines = if self.stride * WRITTEN_OUT <= LINE { neighbours.div_ceil(8) } else { neighbours };
            return lines.max(1) as f64 / WRITTEN_OUT as f64;
        }
        (neighbours * self.stride.min(LINE)).div_ceil(LINE).max(1) as f64
    }
}

/// The reads of a factor, each once.
pub fn reads(factor: &Scalar) -> Vec<ReadId> {
    let mut found = Vec::new();
    factor.visit(&mut |scalar| {
        if let Scalar::Read(read) = scalar
            && !found.contains(read)
        {
            found.push(*read);
        }
    });
    found
}

/// Where a read lies in its operand, laid out row by row.
pub fn dense(expr: &TensorExpr, read: &Read) -> Index {
    Index::linear(&read.index, &expr.operands[read.operand].shape.strides(), 0)
}

/// Whether four steps of the innermost reduced axis are four aligned neighbours in memory, given where the read lies there.
pub fn is_wide(expr: &TensorExpr, read: &Read, place: &Index) -> bool {
    let Some(inner) = expr.reduced().last() else { return false };
    let divides = |value: i64| value % WRITTEN_OUT as i64 == 0;
    let single = expr.operands[read.operand].element.is_single();
    let along = place.coefficient(inner) == 1 && divides(expr.axes[inner].extent as i64);
    let others = expr.axes.ids().filter(|axis| *axis != inner && expr.axes[*axis].extent > 1);
    single
        && read.guard.is_always()
        && place.is_affine()
        && along
        && divides(place.offset())
        && others.into_iter().all(|axis: AxisId| divides(place.coefficient(axis)))
}
