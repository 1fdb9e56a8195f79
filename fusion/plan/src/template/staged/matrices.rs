//! A phase that is a sum of products of halves on tensor cores, a block of rows and columns a warp.
//!
//! Unlike a contraction's, the factors do not pass through tiles of shared memory. A lane loads what it holds of a product straight
//! from memory, and matrices from the boxes of staged values. Which step of the reduction, row and column a lane holds is then
//! free, as long as both factors and the sums agree, and is chosen so that accesses are wide.

use warpweave_graph::expr::{AxisId, Index, Literal, Read, ReadId, TensorExpr};

use crate::body::{Stage, StageSource};
use crate::template::block::BlockSize;
use crate::template::contraction::tile_load::plain_read;
use crate::template::contraction::unit::ComputeUnit;
use crate::template::contraction::unit::mma::{DEPTH, LANE_COLUMNS, LANE_ROWS};
use crate::template::contraction::{AxisClass, Contraction};
use crate::template::staged::blocked::{Sides, dense};
use crate::template::staged::{StagedBox, StagedSpan, slot, strides};
use crate::tensor_core::fragment::{COLUMNS, ROWS};

/// Rows, columns and steps of a matrix that a lane or a load of shared memory takes a part of: elements of a widest access.
pub const MATRIX: usize = 8;

/// Steps of the reduction that are written out one after another, of which all loads are asked for before the first product.
pub const WRITTEN_OUT: usize = 64;

/// Products of a warp's block: down, of 16 rows each, and along, of 8 columns each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct WarpBlock {
    /// Products down.
    pub down: usize,
    /// Products along.
    pub along: usize,
}

/// Blocks to choose from.
const BLOCKS: [WarpBlock; 11] = [
    WarpBlock { down: 1, along: 1 },
    WarpBlock { down: 1, along: 2 },
    WarpBlock { down: 1, along: 4 },
    WarpBlock { down: 1, along: 8 },
    WarpBlock { down: 2, along: 1 },
    WarpBlock { down: 2, along: 2 },
    WarpBlock { down: 2, along: 4 },
    WarpBlock { down: 2, along: 8 },
    WarpBlock { down: 4, along: 1 },
    WarpBlock { down: 4, along: 2 },
    WarpBlock { down: 4, along: 4 },
];

impl WarpBlock {
    /// Rows of the block.
    pub fn rows(self) -> usize {
        self.down * ROWS
    }

    /// Columns of the block.
    pub fn columns(self) -> usize {
        self.along * COLUMNS
    }

    /// Rows that a lane holds sums of.
    pub fn lane_rows(self) -> usize {
        self.down * LANE_ROWS
    }

    /// Columns that a lane holds sums of.
    pub fn lane_columns(self) -> usize {
        self.along * LANE_COLUMNS
    }

    /// Rows, or columns, of a side in groups of [`MATRIX`]: a lane holds one of each.
    pub fn groups(self, side: AxisClass) -> usize {
        match side {
            AxisClass::Row => self.lane_rows(),
            AxisClass::Column | AxisClass::Batch | AxisClass::Reduction => self.along,
        }
    }

    /// Blocks that cover these sides.
    pub fn count(self, sides: Sides) -> usize {
        sides.batch * sides.rows.div_ceil(self.rows()) * sides.columns.div_ceil(self.columns())
    }
}

/// How a lane comes by what it holds of a factor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FactorPath {
    /// Each row, or column, from memory, neighbouring steps at once.
    Steps,
    /// Each step from memory, so many neighbouring rows or columns at once: one, or all that a lane has.
    Elements(usize),
    /// Matrices from the box of a staged value.
    Matrices {
        /// Whether rows of the box are steps.
        transposed: bool,
    },
}

/// Which steps of the reduction are where a factor is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Held {
    /// All.
    Reduction,
    /// Those of the stretch that is walked, with room for as many as the longest has.
    Stretch,
}

/// Which steps of the reduction a lane holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StepOrder {
    /// Of 16 steps those that [`crate::tensor_core::fragment`] says: what loads of matrices bring.
    Product,
    /// Of 32 steps eight neighbours, in two products: what one widest access of a row brings.
    Neighbours,
}

impl StepOrder {
    /// Steps of the reduction that are taken together.
    pub fn steps(self) -> usize {
        self.products() * DEPTH
    }

    /// Products in which they are taken.
    pub fn products(self) -> usize {
        match self {
            Self::Product => 1,
            Self::Neighbours => 2,
        }
    }

    /// Words of two steps that a lane holds of a row, or column.
    pub fn words(self) -> usize {
        self.products() * 2
    }

    /// The first of the two steps in a word of the lane that is the `quad`-th of its four.
    pub fn step(self, quad: usize, word: usize) -> usize {
        match self {
            Self::Product => word * MATRIX + quad * 2,
            Self::Neighbours => quad * MATRIX + word * 2,
        }
    }
}

/// One factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatrixSide {
    /// Rows or columns.
    pub class: AxisClass,
    /// The read that the factor is.
    pub read: ReadId,
    /// Its axes, as positions among the parallel ones.
    pub axes: Vec<usize>,
    /// Groups of [`MATRIX`] rows, or columns.
    pub groups: usize,
    /// How a lane comes by its part.
    pub path: FactorPath,
    /// Which steps are there.
    pub held: Held,
}

impl MatrixSide {
    /// Whether a lane's rows, or columns, are neighbours; else those of a group are, one a lane.
    pub fn are_neighbours(&self) -> bool {
        matches!(self.path, FactorPath::Elements(width) if width > 1)
    }

    /// The last step at which a load of matrices may begin, of a reduction of so many; absent where none begins behind it.
    pub fn last_start(&self, extent: usize) -> Option<usize> {
        match (self.path, self.held) {
            (FactorPath::Matrices { transposed: true }, Held::Reduction) => Some(extent - 1),
            (FactorPath::Matrices { transposed: false }, Held::Reduction) => Some(extent - MATRIX),
            (FactorPath::Matrices { .. }, Held::Stretch) | (FactorPath::Steps | FactorPath::Elements(_), _) => None,
        }
    }

    /// Neighbouring rows, or columns, that a lane names the first of when it loads.
    pub fn run(&self) -> usize {
        match self.path {
            FactorPath::Steps | FactorPath::Matrices { transposed: false } => 1,
            FactorPath::Elements(width) => width,
            FactorPath::Matrices { transposed: true } => MATRIX,
        }
    }

    /// The number in the block of the row, or column, that the lane which is number `of_eight` among those with different ones
    /// loads of a group.
    pub fn loaded(&self, of_eight: usize, group: usize) -> usize {
        if self.are_neighbours() { of_eight * self.groups + group } else { group * MATRIX + of_eight }
    }
}

/// Pads the rows of a box that loads of matrices read, so that each has an odd number of widest accesses: then eight rows begin at
/// different banks.
pub fn pad(spans: &mut [StagedSpan]) {
    if let Some(inner) = spans.last_mut().filter(|span| (span.extent / MATRIX).is_multiple_of(2)) {
        inner.pitch = inner.extent + MATRIX;
    }
}

/// The extent of a phase's box along a parallel axis, and what is known of where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhaseSpan {
    /// Coordinates.
    pub extent: usize,
    /// The largest power of two, up to [`MATRIX`], of which every tile's first coordinate is a multiple.
    pub alignment: usize,
    /// Whether some tile's box leaves the axis elsewhere than in a last, shorter tile.
    pub is_windowed: bool,
}

impl PhaseSpan {
    /// The spans of a staged value's box.
    pub fn of_box(spans: &[StagedSpan], grid: &[usize]) -> Vec<Self> {
        let of = |span: &StagedSpan| Self {
            extent: span.extent,
            alignment: alignment(span),
            is_windowed: !span.stays_inside(grid),
        };
        spans.iter().map(of).collect()
    }

    /// The span of a stretch that begins at a multiple of its length.
    pub fn of_stretch(extent: usize) -> Self {
        Self { extent, alignment: power(extent as i64), is_windowed: false }
    }

    /// The spans of a tile.
    pub fn of_tile(tile: &[usize], grid: &[usize]) -> Vec<Self> {
        let of = |(&extent, &tiles): (&usize, &usize)| Self {
            extent,
            alignment: if tiles <= 1 { MATRIX } else { power(extent as i64) },
            is_windowed: false,
        };
        tile.iter().zip(grid).map(of).collect()
    }
}

fn power(value: i64) -> usize {
    (1 << value.trailing_zeros().min(MATRIX.ilog2())) as usize
}

fn alignment(span: &StagedSpan) -> usize {
    span.steps.iter().chain([&span.first]).map(|part| power(*part)).min().unwrap_or(MATRIX)
}

/// The innermost axis of a reduction as a phase walks it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Steps: all, or those of a stretch, which begins at a multiple of them.
    pub steps: usize,
    /// Whether a stretch may have fewer.
    pub is_ragged: bool,
}

impl Walk {
    /// The whole axis.
    pub fn whole(expr: &TensorExpr) -> Self {
        Self { steps: innermost(expr).map_or(1, |axis| expr.axes[axis].extent), is_ragged: false }
    }

    /// Whether what is taken together may reach beyond the walk's end.
    pub fn has_tail(self, order: StepOrder) -> bool {
        self.is_ragged || !self.steps.is_multiple_of(order.steps())
    }
}

fn innermost(expr: &TensorExpr) -> Option<AxisId> {
    expr.reduced().last()
}

/// A phase on tensor cores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatrixProduct {
    /// What a warp computes at a time.
    pub block: WarpBlock,
    /// Rows, then columns.
    pub sides: [MatrixSide; 2],
    /// Which steps a lane holds.
    pub order: StepOrder,
}

impl MatrixProduct {
    /// The number in the block of the `row`-th row whose sums a lane holds that is number `of_eight` among those with other rows.
    pub fn sum_row(&self, of_eight: usize, row: usize) -> usize {
        self.sides[0].loaded(of_eight, row)
    }

    /// The number in the block of the `column`-th column whose sums a lane holds that is the `quad`-th of its four.
    pub fn sum_column(&self, quad: usize, column: usize) -> usize {
        self.sides[1].loaded(quad * LANE_COLUMNS + column % LANE_COLUMNS, column / LANE_COLUMNS)
    }
}

/// Where the phase stands.
#[derive(Clone, Copy)]
pub struct MatrixPhase<'p> {
    /// What is computed.
    pub stage: &'p Stage,
    /// Its box.
    pub spans: &'p [PhaseSpan],
    /// The boxes of staged values.
    pub boxes: &'p [StagedBox],
    /// How it walks the reduction.
    pub walk: Walk,
}

impl MatrixPhase<'_> {
    /// How warps with this block compute the phase; `None` where its factors are not 16 bits wide, are computed, or do not lie in
    /// boxes as matrices. `place` gives the element of memory that a read of an operand finds.
    pub fn product(&self, block: WarpBlock, place: &dyn Fn(&Read) -> Index) -> Option<MatrixProduct> {
        self.product_of(&self.contraction()?, block, place)
    }

    fn product_of(
        &self,
        contraction: &Contraction,
        block: WarpBlock,
        place: &dyn Fn(&Read) -> Index,
    ) -> Option<MatrixProduct> {
        let side = |class: AxisClass| self.side(contraction, class, block, place);
        let sides = [side(AxisClass::Row)?, side(AxisClass::Column)?];
        let in_memory = sides.iter().all(|side| !matches!(side.path, FactorPath::Matrices { .. }));
        let by_steps = sides.iter().any(|side| side.path == FactorPath::Steps);
        let order = match in_memory && by_steps && self.walk.steps > DEPTH {
            true => StepOrder::Neighbours,
            false => StepOrder::Product,
        };
        Some(MatrixProduct { block, sides, order })
    }

    /// The contraction, if tensor cores can multiply its factors as they are stored.
    fn contraction(&self) -> Option<Contraction> {
        Contraction::of_expression(&self.stage.expr).filter(|found| ComputeUnit::Mma.multiplies(found.numerics()))
    }

    fn side(
        &self,
        contraction: &Contraction,
        class: AxisClass,
        block: WarpBlock,
        place: &dyn Fn(&Read) -> Index,
    ) -> Option<MatrixSide> {
        let Stage { expr, sources, .. } = self.stage;
        let id = plain_read(expr, contraction.factor(class))?;
        let read = &expr.reads[id];
        let parallel = expr.parallel().enumerate().filter(|(_, axis)| contraction.class(*axis) == class);
        let axes: Vec<usize> = parallel.map(|(position, _)| position).collect();
        let groups = block.groups(class);
        let (path, held) = match sources[read.operand] {
            StageSource::Operand(_) => (self.path_from_memory(read, &axes, groups, place)?, Held::Reduction),
            StageSource::Staged(staged) => {
                let spans = &self.boxes[staged];
                (self.path_from_box(read, &axes, spans)?, self.held(read, spans))
            }
            StageSource::Stage(_) => return None,
        };
        Some(MatrixSide { class, read: id, axes, groups, path, held })
    }

    fn path_from_memory(
        &self,
        read: &Read,
        axes: &[usize],
        groups: usize,
        place: &dyn Fn(&Read) -> Index,
    ) -> Option<FactorPath> {
        let zero =
            read.guard.is_always() || read.fill == Literal::new(self.stage.expr.operands[read.operand].element, 0.0);
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        let free = read.index.iter().chain(conditions).all(Index::is_free_of_reads);
        (zero && free).then_some(())?;
        let index = place(read);
        let plain = read.guard.is_always() && index.is_affine();
        let inner = innermost(&self.stage.expr)?;
        let has_whole_runs = self.stage.expr.axes[inner].extent.is_multiple_of(MATRIX);
        if plain && has_whole_runs && self.run_along(&index, inner, MATRIX) {
            return Some(FactorPath::Steps);
        }
        let neighbours = plain && groups > 1 && self.has_runs(axes, groups) && {
            self.axis(axes).is_some_and(|axis| self.run_along(&index, axis, groups))
        };
        Some(FactorPath::Elements(if neighbours { groups } else { 1 }))
    }

    fn path_from_box(&self, read: &Read, axes: &[usize], spans: &StagedBox) -> Option<FactorPath> {
        let index = slot(read, spans);
        let starts = spans.iter().zip(strides(spans));
        let mut starts = starts.map(|(span, stride)| alignment(span) == MATRIX || stride.is_multiple_of(MATRIX));
        (read.guard.is_always() && index.is_affine() && starts.all(|aligned| aligned)).then_some(())?;
        let inner = innermost(&self.stage.expr)?;
        let steps = match self.held(read, spans) {
            Held::Reduction => self.stage.expr.axes[inner].extent,
            Held::Stretch => self.walk.steps,
        };
        if steps.is_multiple_of(MATRIX) && self.run_along(&index, inner, MATRIX) {
            return Some(FactorPath::Matrices { transposed: false });
        }
        let transposed =
            self.has_runs(axes, MATRIX) && self.axis(axes).is_some_and(|axis| self.run_along(&index, axis, MATRIX));
        transposed.then_some(FactorPath::Matrices { transposed: true })
    }

    /// A box of a stretch has room for its steps along the dimension that is walked, a box of all steps for all.
    fn held(&self, read: &Read, spans: &StagedBox) -> Held {
        let Some(inner) = innermost(&self.stage.expr) else { return Held::Reduction };
        let is_stretch = self.walk.steps != self.stage.expr.axes[inner].extent;
        let mut walked = read.index.iter().zip(spans).filter(|(index, _)| index.as_axis() == Some(inner));
        match is_stretch && walked.any(|(_, span)| span.extent == self.walk.steps) {
            true => Held::Stretch,
            false => Held::Reduction,
        }
    }

    /// The innermost axis of a side that has more than one coordinate in the box.
    fn axis(&self, axes: &[usize]) -> Option<AxisId> {
        let position = *axes.iter().rfind(|axis| self.spans[**axis].extent > 1)?;
        self.stage.expr.parallel().nth(position)
    }

    /// Whether runs of so many neighbours along a side's innermost axis lie in the box or beyond it as wholes.
    fn has_runs(&self, axes: &[usize], length: usize) -> bool {
        let Some(&position) = axes.iter().rfind(|axis| self.spans[**axis].extent > 1) else { return false };
        let span = self.spans[position];
        let whole = self.axis(axes).map_or(1, |axis| self.stage.expr.axes[axis].extent);
        !span.is_windowed
            && span.alignment >= length
            && span.extent.is_multiple_of(length)
            && whole.is_multiple_of(length)
    }

    /// Whether an index moves from neighbour to neighbour along an axis, and runs of so many begin at multiples of their length.
    fn run_along(&self, index: &Index, along: AxisId, length: usize) -> bool {
        let expr = &self.stage.expr;
        let divides = |value: i64| value % length as i64 == 0;
        let mut others = expr.axes.ids().filter(|axis| *axis != along && expr.axes[*axis].extent > 1);
        index.coefficient(along) == 1 && divides(index.offset()) && others.all(|axis| divides(index.coefficient(axis)))
    }

    /// The cheapest block, and what it takes; `None` where tensor cores cannot compute the phase.
    pub fn cheapest(&self, block_size: BlockSize) -> Option<MatrixStep> {
        self.cheapest_of(block_size, |_| true)
    }

    /// The same of those blocks of which each warp has one at most, so that it may keep its sums.
    pub fn cheapest_kept(&self, block_size: BlockSize) -> Option<MatrixStep> {
        self.cheapest_of(block_size, |step| step.trips <= 1)
    }

    fn cheapest_of(&self, block_size: BlockSize, takes: impl Fn(&MatrixStep) -> bool) -> Option<MatrixStep> {
        let contraction = self.contraction()?;
        let sides = Sides::of(&self.stage.expr, &contraction, &self.extents());
        let place = |read: &Read| dense(&self.stage.expr, read);
        let steps = BLOCKS.into_iter().filter_map(|block| {
            let product = self.product_of(&contraction, block, &place)?;
            Some(MatrixStep::new(product, sides, self.walk, block_size)).filter(&takes)
        });
        steps.min_by(|a, b| a.total().total_cmp(&b.total()))
    }

    fn extents(&self) -> Vec<usize> {
        self.spans.iter().map(|span| span.extent).collect()
    }
}

/// The work of a phase under a block a warp.
#[derive(Clone, PartialEq, Debug)]
pub struct MatrixStep {
    /// How it is computed.
    pub product: MatrixProduct,
    /// How often the warps of the block go through the reduction to cover the box.
    pub trips: usize,
    /// Warps that have a block in a trip, at most.
    pub warps: usize,
    /// Cycles in which the busiest scheduler issues what its warps do for a point of the reduction.
    pub cycles: f64,
}

/// Cycles in which a tensor core of a multiprocessor's four takes a product: 2,048 multiply-adds at 256 a cycle.
const PRODUCT_CYCLES: f64 = 8.0;
/// Cycles from a product to the next that adds to its sums.
const PRODUCT_LATENCY: f64 = 33.0;
/// Instructions of a load from memory with its address.
const LOAD_INSTRUCTIONS: f64 = 3.0;
/// Instructions that put two halves into a word.
const PACK_INSTRUCTIONS: f64 = 2.0;
/// Cycles in which a load of matrices is issued and occupies its share of the data path, a matrix.
const MATRIX_CYCLES: f64 = 4.0;
/// Schedulers of a multiprocessor.
const SCHEDULERS: usize = 4;

impl MatrixStep {
    fn new(product: MatrixProduct, sides: Sides, walk: Walk, block_size: BlockSize) -> Self {
        let count = product.block.count(sides);
        let warps = count.min(block_size.warps());
        let WarpBlock { down, along } = product.block;
        let loads: f64 = product.sides.iter().map(|side| side.instructions(product.order)).sum();
        let each = (down * along) as f64 * PRODUCT_CYCLES + loads / product.order.products() as f64;
        let beside = warps.div_ceil(SCHEDULERS) as f64;
        let padded = walk.steps.div_ceil(product.order.steps()) * product.order.steps();
        let share = padded as f64 / walk.steps.max(1) as f64;
        let cycles = (beside * each).max(PRODUCT_LATENCY) * share / DEPTH as f64;
        Self { product, trips: count.div_ceil(block_size.warps()), warps, cycles }
    }

    /// Cycles of all trips for a point of the reduction.
    pub fn total(&self) -> f64 {
        self.trips as f64 * self.cycles
    }
}

impl MatrixSide {
    /// Instructions of a lane that bring the steps which are taken together.
    fn instructions(&self, order: StepOrder) -> f64 {
        let words = order.words() as f64;
        let groups = self.groups as f64;
        match self.path {
            FactorPath::Steps => groups * LOAD_INSTRUCTIONS * if order == StepOrder::Neighbours { 1.0 } else { words },
            FactorPath::Elements(1) => groups * words * (2.0 * LOAD_INSTRUCTIONS + PACK_INSTRUCTIONS),
            FactorPath::Elements(_) => words * (2.0 * LOAD_INSTRUCTIONS + groups * PACK_INSTRUCTIONS),
            FactorPath::Matrices { .. } => groups * words * MATRIX_CYCLES,
        }
    }
}

#[cfg(test)]
mod tests;
