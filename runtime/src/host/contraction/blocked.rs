//! Contractions of singles and of integers: panels of both factors, block by block along the reduction.

use std::cell::RefCell;
use std::ops::Range as Numbers;
use std::sync::Arc;

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Range, ReadId};
use warpweave_graph::program::TensorId;
use warpweave_plan::body::StageSource;
use warpweave_plan::plan::{BufferSpace, ROperator};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::contraction::{stored_read, zero_point};

use super::access::{Access, positions};
use super::constant::{ConstantPanels, Key, OwnPanels, PackedConstants};
use super::epilogue::{Epilogue, Sums, Walk};
use super::kernel::{Kernels, SignedFactor};
use super::pack::{Panels, pack};
use super::placement::{Placed, Placement, Tiled};
use super::runs::{Runs, Steps};
use super::side::{Format, Place, Side, Unjoined};
use crate::host::memory::{HostSpace, Memory};
use crate::host::stage::HostStage;
use crate::host::vector::{Shared, StageReads};

/// Fewer columns than this are no work for vectors along them.
const FEWEST_COLUMNS: usize = 8;

/// Fewer rows than this are multiplied sooner without packing columns.
const FEWEST_ROWS: usize = 4;

/// A contraction of singles, of halves summed as singles, or of integers of 32 bits, whose factors are reads at linear indices: all of
/// an operator but the bytes from which it reads and writes.
pub(in crate::host) struct Blocked {
    pub(super) factors: Factors,
    pub(super) rows: Side,
    pub(super) columns: Side,
    pub(super) placement: Placement,
    /// Tile axes of neither side.
    pub(super) batch: Vec<usize>,
    pub(super) steps: Steps,
    /// Steps of a block.
    block: usize,
    epilogue: Epilogue,
    pub(super) kernels: &'static Kernels,
    /// Axes of the sums' stage.
    axes: usize,
    /// Whether a tile has as many rows and columns as it takes for packing to pay.
    pub(super) has_blocks: bool,
    /// Whether tiles of other columns have the same rows.
    pub(super) shares_rows: bool,
}

/// What panels hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Factors {
    Singles,
    /// Integers, several steps in an element.
    Integers,
}

/// A tile, and what is multiplied of it.
#[derive(Clone, Copy)]
pub(super) struct Tile<'t> {
    pub(super) ranges: &'t [Range],
    pub(super) memory: &'t Memory<'t>,
    pub(super) panels: &'t OwnPanels,
}

/// What one operator adds to what it has in common with others.
struct Operands<'o> {
    stages: &'o [HostStage],
    panels: &'o OwnPanels,
    memory: &'o Memory<'o>,
}

/// What a thread works in.
#[derive(Default)]
pub(super) struct Scratch {
    /// The first point of the tile; reduced axes are 0.
    pub(super) point: Vec<i64>,
    pub(super) runs: Runs,
    /// Elements beyond those that are multiplied where they lie.
    pub(super) rest: Runs,
    pub(super) rows: Vec<f32>,
    /// What the panels of rows are those of, if all blocks are kept.
    pub(super) kept: Kept,
    pub(super) columns: Vec<f32>,
    pub(super) unjoined: Unjoined,
    /// Sums of the bytes of rows, and of columns.
    pub(super) row_sums: Vec<i32>,
    pub(super) column_sums: Vec<i32>,
    pub(super) sums: Vec<f32>,
    pub(super) walk: Walk,
}

/// Panels that the next rTask of an operator may multiply, too.
#[derive(Default)]
pub(super) struct Kept {
    run: u64,
    /// Where the operator's bases are, which stay there during a run.
    operator: usize,
    ranges: Vec<Range>,
}

impl Kept {
    /// Whether these are the panels of an operator at these ranges in this run; from now on they are.
    pub(super) fn replace(&mut self, run: u64, operator: usize, ranges: impl Iterator<Item = Range> + Clone) -> bool {
        let is_kept = self.run == run && self.operator == operator && ranges.clone().eq(self.ranges.iter().copied());
        (self.run, self.operator) = (run, operator);
        self.ranges.clear();
        self.ranges.extend(ranges);
        is_kept
    }

    /// Nothing is kept any more.
    pub(super) fn forget(&mut self) {
        self.run = 0;
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Blocked {
    /// Prepares the contraction that an operator of these stages is, whose tiles have these axes; `None` if another element
    /// type is summed or a factor is computed.
    pub(super) fn new(
        operator: &ROperator,
        contraction: &Contraction,
        (stages, shared): (&[StageReads], &[Shared]),
    ) -> Option<Self> {
        let factors = match contraction.element {
            ElementType::F32 => Factors::Singles,
            ElementType::I32 => Factors::Integers,
            _ => return None,
        };
        let (body, stage) = (operator.kernel.body(), &stages[0]);
        let extent = |axis: usize| stage.expr.axes[AxisId::from_index(axis)].extent;
        let of_class = |class: AxisClass| contraction.tile_axes(body, class);
        let length = |class: AxisClass| most(shared, &of_class(class));
        let mut classes = [AxisClass::Row, AxisClass::Column];
        if length(classes[1]) < FEWEST_COLUMNS && length(classes[0]) > length(classes[1]) {
            classes.reverse();
        }
        let kernels = match factors {
            Factors::Singles => Kernels::native(),
            Factors::Integers => Kernels::native_of_pairs(),
        };
        let side = |class: AxisClass, panels: Panels| {
            let factor = contraction.factor(class);
            let (stored, zero) = if factors == Factors::Integers { zero_point(factor) } else { (factor, None) };
            let access = Access::new(stage, stored)?;
            let zero = match zero {
                Some(zero) => {
                    let zero = Access::new(stage, zero)?;
                    let holds = zero.conditions.is_empty() || zero.conditions == access.conditions;
                    Some(Some(zero).filter(|_| holds)?)
                }
                None => None,
            };
            let is_stored = |access: &Access| access.space == HostSpace::Plan(BufferSpace::Weights);
            let is_constant = is_stored(&access) && zero.as_ref().is_none_or(is_stored);
            let constant = stored_read(&stage.expr, stored).filter(|_| is_constant);
            let format = if factors == Factors::Singles { Format::Single } else { Format::Pair };
            Some(Side { axes: of_class(class), access, zero, panels, format, constant })
        };
        let mut rows = side(classes[0], Panels::Exact(kernels.rows))?;
        let mut columns = side(classes[1], Panels::Padded(kernels.columns))?;
        let joined = (factors == Factors::Integers).then(|| join_bytes(&mut rows, &mut columns)).flatten();
        let kernels = joined.unwrap_or(kernels);
        let reduced = positions(contraction.axes(AxisClass::Reduction)).into_iter().map(|axis| (axis, extent(axis)));
        let accesses: Vec<&Access> = [&rows, &columns].into_iter().flat_map(Side::accesses).collect();
        let steps = Steps::new(&reduced.collect::<Vec<_>>(), &accesses);
        let column_factor = contraction.factor(classes[1]);
        let tiled = Tiled { stage, shared, rows: &rows, columns: &columns, column_factor };
        let Placed { placement, steps, block } = match factors {
            Factors::Singles => tiled.place(steps, kernels),
            Factors::Integers => Placed::of_integers(steps),
        };
        let (batch, epilogue) = (of_class(AxisClass::Batch), Epilogue::new(stages, contraction.element));
        let has_blocks = most(shared, &rows.axes) >= FEWEST_ROWS && most(shared, &columns.axes) >= FEWEST_COLUMNS;
        let shares_rows = columns.axes.iter().any(|&axis| !shared[axis].is_whole);
        let axes = stage.expr.axes.len();
        Some(Self {
            factors,
            rows,
            columns,
            placement,
            batch,
            steps,
            block,
            epilogue,
            kernels,
            axes,
            has_blocks,
            shares_rows,
        })
    }

    /// The blocks of the reduction.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Numbers<usize>> + use<> {
        let (steps, block) = (self.steps.count(), self.block.max(1));
        (0..steps).step_by(block).map(move |first| first..steps.min(first + block))
    }

    /// Whether outputs are computed by the operator's stages.
    pub(super) fn takes_stages(&self) -> bool {
        self.epilogue.takes_stages()
    }

    /// Packs what is constant of an operator.
    pub(super) fn pack_constants(
        &self,
        operator: &ROperator,
        memory: &Memory,
        packed: &mut PackedConstants,
    ) -> OwnPanels {
        let [rows, columns] = [&self.rows, &self.columns].map(|side| self.pack_side(side, operator, memory, packed));
        OwnPanels { rows, columns }
    }

    /// The tensors of an operator of which all panels are packed.
    pub(super) fn packed_operands(&self, operator: &ROperator, panels: &OwnPanels) -> Vec<TensorId> {
        let stage = &operator.kernel.body().stages[0];
        let tensor = |read: ReadId| match stage.sources[stage.expr.reads[read].operand] {
            StageSource::Operand(operand) => Some(operator.kernel.body().operands[operand]),
            StageSource::Stage(_) | StageSource::Staged(_) => None,
        };
        let sides = [(&self.rows, &panels.rows), (&self.columns, &panels.columns)];
        let packed = sides.into_iter().filter(|(_, panels)| panels.is_some());
        packed.filter_map(|(side, _)| side.constant.and_then(tensor)).collect()
    }

    fn pack_side(
        &self,
        side: &Side,
        operator: &ROperator,
        memory: &Memory,
        packed: &mut PackedConstants,
    ) -> Option<Arc<ConstantPanels>> {
        let Side { axes, access, zero, panels, format, constant: _ } = side;
        let accesses: Vec<&Access> = side.accesses().collect();
        let places =
            ConstantPanels::places(operator, axes, &self.batch, &accesses).filter(|_| side.constant.is_some())?;
        let (byte, axes, steps) = (access.byte(0, memory), axes.clone(), self.steps.clone());
        let zero = zero.as_ref().map(|zero| (zero.byte(0, memory), zero.at_first_base()));
        let access_key = access.at_first_base();
        let (panels, format) = (*panels, *format);
        let key = Key { byte, access: access_key, zero, axes, places, panels, format, steps, block: self.block };
        let (mut runs, mut point, mut unjoined) = (Runs::default(), vec![0; self.axes], Unjoined::default());
        packed.get(key, |tile, values| {
            tile.iter().zip(&mut point).for_each(|(range, point)| *point = range.minimum);
            runs.find(access, &side.axes, tile, &mut point);
            let elements = runs.elements;
            let mut place = Place { point: &mut point, runs: &mut runs, tile, memory };
            let has_sums = matches!(side.format, Format::Quad { .. });
            let mut sums = vec![0; if has_sums { elements } else { 0 }];
            let fits = self.blocks().all(|block| {
                let first = values.len();
                values.resize(first + side.length(elements, block.len()), 0.0);
                let out = &mut values[first..];
                if self.factors == Factors::Singles {
                    pack(access, place.runs, (&self.steps, block), panels, memory, out);
                    return true;
                }
                let sums = Some(&mut sums[..]).filter(|_| has_sums);
                side.pack_integers((&self.steps, &block), elements, &mut place, (&mut unjoined, out), sums)
            });
            values.extend_from_slice(bytemuck::cast_slice(&sums));
            fits
        })
    }

    /// Runs the tile over these ranges of the tile axes; whether it has. It has not if integers are too large for pairs: something of
    /// the tile may be written then, and all of it is to be written.
    pub(super) fn run(&self, stages: &[HostStage], panels: &OwnPanels, ranges: &mut [Range], memory: &Memory) -> bool {
        let operands = Operands { stages, panels, memory };
        SCRATCH.with_borrow_mut(|scratch| self.run_batches(&operands, ranges, &self.batch, scratch))
    }

    /// Runs every point of the batch axes that are left.
    fn run_batches(&self, operands: &Operands, tile: &mut [Range], batch: &[usize], scratch: &mut Scratch) -> bool {
        let Some((&axis, rest)) = batch.split_first() else { return self.run_one(operands, tile, scratch) };
        let range = tile[axis];
        let ran = (range.minimum..=range.maximum).all(|value| {
            tile[axis] = Range::point(value);
            self.run_batches(operands, tile, rest, scratch)
        });
        tile[axis] = range;
        ran
    }

    fn run_one(&self, &Operands { stages, panels, memory }: &Operands, tile: &[Range], scratch: &mut Scratch) -> bool {
        scratch.point.clear();
        scratch.point.extend(tile.iter().map(|range| range.minimum));
        scratch.point.resize(self.axes, 0);
        let Some(stride) = self.multiply(Tile { ranges: tile, memory, panels }, scratch) else { return false };
        let (rows, columns) = (&self.rows.axes, &self.columns.axes);
        let Scratch { sums, walk, .. } = scratch;
        let sums = Sums { values: sums, stride, rows, columns };
        self.epilogue.run(stages, tile, memory, &sums, walk);
        true
    }
}

/// Makes elements of both sides quads, and gives the kernels that multiply them, if both are bytes and the processor has such.
fn join_bytes(rows: &mut Side, columns: &mut Side) -> Option<&'static Kernels> {
    if !rows.is_of_bytes() || !columns.is_of_bytes() {
        return None;
    }
    let [of_rows, of_columns] = [&*rows, &*columns].map(|side| side.access.element);
    let signed = match (of_rows, of_columns) {
        (ElementType::I8, ElementType::U8) => SignedFactor::Rows,
        (ElementType::U8, ElementType::I8) => SignedFactor::Columns,
        // Constants have a sign: of 128, the zero point of most that are stored without one, it leaves 0, and no sums of the others.
        _ if rows.constant.is_some() => SignedFactor::Rows,
        _ => SignedFactor::Columns,
    };
    let kernels = Kernels::native_of_quads(signed)?;
    rows.format = Format::quad(of_rows, signed == SignedFactor::Rows);
    columns.format = Format::quad(of_columns, signed == SignedFactor::Columns);
    Some(kernels)
}

/// Elements of a side that a tile has at most.
fn most(shared: &[Shared], axes: &[usize]) -> usize {
    axes.iter().map(|&axis| shared[axis].most).product()
}
