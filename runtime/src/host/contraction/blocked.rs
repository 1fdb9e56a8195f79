//! Contractions of singles: panels of both factors, block by block along the reduction.

use std::cell::RefCell;
use std::ops::Range as Numbers;

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Range, Scalar};
use warpweave_graph::program::TensorId;
use warpweave_plan::body::StageSource;
use warpweave_plan::plan::{BufferSpace, MemoryPlan, ROperator};
use warpweave_plan::template::contraction::tile_load::plain_read;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::StagedBox;

use super::access::{Access, positions};
use super::constant::{ConstantPanels, Key, PackedConstants};
use super::epilogue::{Epilogue, Sums};
use super::kernel::Kernels;
use super::pack::{Panels, pack};
use super::placement::{Placed, Placement, Tiled};
use super::runs::{Runs, Steps};
use super::side::Side;
use crate::host::memory::Memory;
use crate::host::stage::HostStage;

/// Fewer columns than this are no work for vectors along them.
const FEWEST_COLUMNS: usize = 8;

/// Fewer rows than this are multiplied sooner without packing columns.
const FEWEST_ROWS: usize = 4;

/// A contraction of singles, or of halves summed as singles, whose factors are reads at linear indices.
pub(in crate::host) struct Blocked {
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
    pub(super) sums: Vec<f32>,
}

/// Panels that the next rTask of an operator may multiply, too.
#[derive(Default)]
pub(super) struct Kept {
    run: u64,
    /// The operator, which stays where it is during a run.
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
    /// Prepares the contraction that an operator is; `None` if another element type is summed or a factor is computed.
    pub(super) fn new(
        operator: &ROperator,
        contraction: &Contraction,
        memory: &MemoryPlan,
        boxes: &[StagedBox],
    ) -> Option<Self> {
        if contraction.element != ElementType::F32 && !contraction.element.is_half() {
            return None;
        }
        let (body, stage) = (&operator.body, &operator.body.stages[0]);
        let access = |class: AxisClass| Access::new(operator, stage, contraction.factor(class), memory, boxes);
        let extent = |axis: usize| stage.expr.axes[AxisId::from_index(axis)].extent;
        let of_class = |class: AxisClass| contraction.tile_axes(body, class);
        let length = |class: AxisClass| most(operator, &of_class(class));
        let mut classes = [AxisClass::Row, AxisClass::Column];
        if length(classes[1]) < FEWEST_COLUMNS && length(classes[0]) > length(classes[1]) {
            classes.reverse();
        }
        let kernels = Kernels::native();
        let side = |class: AxisClass, panels: Panels| {
            let constant = constant_operand(operator, contraction.factor(class), memory);
            Some(Side { axes: of_class(class), access: access(class)?, panels, constant, packed: None })
        };
        let rows = side(classes[0], Panels::Exact(kernels.rows))?;
        let columns = side(classes[1], Panels::Padded(kernels.columns))?;
        let reduced = positions(contraction.axes(AxisClass::Reduction)).into_iter().map(|axis| (axis, extent(axis)));
        let steps = Steps::new(&reduced.collect::<Vec<_>>(), &[&rows.access, &columns.access]);
        let tiled = Tiled { operator, rows: &rows, columns: &columns, column_factor: contraction.factor(classes[1]) };
        let Placed { placement, steps, block } = tiled.place(steps, kernels);
        let (batch, epilogue) = (of_class(AxisClass::Batch), Epilogue::new(operator, memory, boxes));
        Some(Self { rows, columns, placement, batch, steps, block, epilogue, kernels })
    }

    /// The blocks of the reduction.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Numbers<usize>> + use<> {
        let (steps, block) = (self.steps.count(), self.block.max(1));
        (0..steps).step_by(block).map(move |first| first..steps.min(first + block))
    }

    /// Whether a tile has as many rows and columns as it takes for packing to pay.
    pub(super) fn has_blocks(&self, operator: &ROperator) -> bool {
        most(operator, &self.rows.axes) >= FEWEST_ROWS && most(operator, &self.columns.axes) >= FEWEST_COLUMNS
    }

    /// Packs what is constant; returns the constants that are no longer read.
    pub(super) fn pack_constants(
        &mut self,
        operator: &ROperator,
        memory: &Memory,
        packed: &mut PackedConstants,
    ) -> Vec<TensorId> {
        let blocks: Vec<Numbers<usize>> = self.blocks().collect();
        let (steps, block) = (&self.steps, self.block);
        for side in [&mut self.rows, &mut self.columns] {
            let places = ConstantPanels::places(operator, &side.axes, &self.batch, &side.access);
            let Some(places) = places.filter(|_| side.constant.is_some()) else { continue };
            let Side { axes, access, panels, .. } = &*side;
            let panels = *panels;
            let key = Key { access: access.clone(), axes: axes.clone(), places, panels, steps: steps.clone(), block };
            let (mut runs, mut point) = (Runs::default(), vec![0; operator.body.stages[0].expr.axes.len()]);
            side.packed = packed.get(key, |tile, values| {
                tile.iter().zip(&mut point).for_each(|(range, point)| *point = range.minimum);
                runs.find(access, axes, tile, &mut point);
                let singles = panels.singles(runs.elements);
                for block in blocks.iter().cloned() {
                    let first = values.len();
                    values.resize(first + singles * block.len(), 0.0);
                    pack(access, &runs, (steps, block), panels, memory, &mut values[first..]);
                }
            });
        }
        let packed = [&self.rows, &self.columns].into_iter().filter(|side| side.packed.is_some());
        packed.filter_map(|side| side.constant).collect()
    }

    /// Runs the tile over these ranges of the tile axes.
    pub(super) fn run(&self, stages: &[HostStage], tile: &[Range], memory: &Memory) {
        SCRATCH.with_borrow_mut(|scratch| {
            let mut tile = tile.to_vec();
            self.run_batches(stages, &mut tile, &self.batch, memory, scratch);
        });
    }

    /// Runs every point of the batch axes that are left.
    fn run_batches(
        &self,
        stages: &[HostStage],
        tile: &mut [Range],
        batch: &[usize],
        memory: &Memory,
        scratch: &mut Scratch,
    ) {
        let Some((&axis, rest)) = batch.split_first() else { return self.run_one(stages, tile, memory, scratch) };
        let range = tile[axis];
        for value in range.minimum..=range.maximum {
            tile[axis] = Range::point(value);
            self.run_batches(stages, tile, rest, memory, scratch);
        }
        tile[axis] = range;
    }

    fn run_one(&self, stages: &[HostStage], tile: &[Range], memory: &Memory, scratch: &mut Scratch) {
        scratch.point.clear();
        scratch.point.extend(tile.iter().map(|range| range.minimum));
        scratch.point.resize(stages[0].expr.axes.len(), 0);
        let stride = self.multiply(tile, memory, scratch);
        let (rows, columns) = (&self.rows.axes, &self.columns.axes);
        let sums = Sums { values: &scratch.sums, stride, rows, columns };
        self.epilogue.run(stages, tile, memory, &sums);
    }
}

/// Elements of a side that a tile has at most.
fn most(operator: &ROperator, axes: &[usize]) -> usize {
    let extents = operator.body.tile_extents();
    axes.iter().map(|&axis| operator.params.tile[axis].min(extents[axis])).product()
}

/// The constant that a factor reads, if it reads one.
fn constant_operand(operator: &ROperator, factor: &Scalar, memory: &MemoryPlan) -> Option<TensorId> {
    let stage = &operator.body.stages[0];
    let read = &stage.expr.reads[plain_read(&stage.expr, factor)?];
    let StageSource::Operand(operand) = stage.sources[read.operand] else { return None };
    let tensor = operator.body.operands[operand];
    let space = memory.tensors[tensor].buffer?.space;
    (space == BufferSpace::Weights).then_some(tensor)
}
