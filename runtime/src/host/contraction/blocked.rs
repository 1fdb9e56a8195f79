//! Contractions of singles: panels of both factors, block by block along the reduction.

use std::cell::RefCell;
use std::ops::Range as Numbers;
use std::sync::Arc;

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Range};
use warpweave_plan::plan::{BufferSpace, MemoryPlan, ROperator};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::StagedBox;

use super::access::{Access, positions};
use super::constant::{ConstantPanels, Key, PackedConstants};
use super::epilogue::{Epilogue, Sums};
use super::kernel::{Kernels, PanelProduct};
use super::pack::{Panels, pack};
use super::runs::{Runs, Steps};
use crate::host::memory::{HostSpace, Memory};
use crate::host::stage::HostStage;

/// Most steps of a block: a panel of columns stays in the first-level cache while panels of rows pass.
const BLOCK_STEPS: usize = 320;

/// Fewer columns than this are no work for vectors along them.
const FEWEST_COLUMNS: usize = 8;

/// A contraction of singles, or of halves summed as singles, whose factors are reads at linear indices.
pub(in crate::host) struct Blocked {
    rows: Side,
    columns: Side,
    /// Tile axes of neither side.
    batch: Vec<usize>,
    steps: Steps,
    epilogue: Epilogue,
    kernels: &'static Kernels,
}

/// The side of a tile along which one factor varies.
struct Side {
    axes: Vec<usize>,
    access: Access,
    panels: Panels,
    /// All of it, packed once.
    constant: Option<Arc<ConstantPanels>>,
}

/// What a thread works in.
#[derive(Default)]
struct Scratch {
    point: Vec<i64>,
    runs: Runs,
    rows: Vec<f32>,
    columns: Vec<f32>,
    sums: Vec<f32>,
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
        let body = &operator.body;
        let stage = &body.stages[0];
        let access = |class: AxisClass| Access::new(operator, stage, contraction.factor(class), memory, boxes);
        let (row_access, column_access) = (access(AxisClass::Row)?, access(AxisClass::Column)?);
        let reduced = positions(contraction.axes(AxisClass::Reduction));
        let extent = |axis: usize| stage.expr.axes[AxisId::from_index(axis)].extent;
        let reduced: Vec<(usize, usize)> = reduced.into_iter().map(|axis| (axis, extent(axis))).collect();
        let steps = Steps::new(&reduced, &[&row_access, &column_access]);
        let kernels = Kernels::native();
        let of_class = |class: AxisClass| contraction.tile_axes(body, class);
        let length = |axes: &[usize]| axes.iter().map(|&axis| operator.params.tile[axis].min(extent(axis))).product();
        let mut sides = [(of_class(AxisClass::Row), row_access), (of_class(AxisClass::Column), column_access)];
        let [rows, columns]: [usize; 2] = [length(&sides[0].0), length(&sides[1].0)];
        if columns < FEWEST_COLUMNS && rows > columns {
            sides.reverse();
        }
        let [rows, columns] = sides;
        let side = |(axes, access): (Vec<usize>, Access), panels: Panels| Side { axes, access, panels, constant: None };
        Some(Self {
            rows: side(rows, Panels::Exact(kernels.rows)),
            columns: side(columns, Panels::Padded(kernels.columns)),
            batch: of_class(AxisClass::Batch),
            steps,
            epilogue: Epilogue::new(operator, memory, boxes),
            kernels,
        })
    }

    /// Packs what is constant.
    pub(super) fn pack_constants(&mut self, operator: &ROperator, memory: &Memory, packed: &mut PackedConstants) {
        for side in [&mut self.rows, &mut self.columns] {
            if side.access.space != HostSpace::Plan(BufferSpace::Weights) {
                continue;
            }
            let Some(places) = ConstantPanels::places(operator, &side.axes, &self.batch, &side.access) else {
                continue;
            };
            let Side { axes, access, panels, .. } = &*side;
            let (steps, panels) = (&self.steps, *panels);
            let key = Key { access: access.clone(), axes: axes.clone(), places, panels, steps: steps.clone() };
            let (mut runs, mut point) = (Runs::default(), vec![0; operator.body.stages[0].expr.axes.len()]);
            side.constant = packed.get(key, |tile, values| {
                tile.iter().zip(&mut point).for_each(|(range, point)| *point = range.minimum);
                runs.find(access, axes, tile, &mut point);
                let singles = panels.singles(runs.elements);
                for block in blocks(steps.count()) {
                    let first = values.len();
                    values.resize(first + singles * block.len(), 0.0);
                    pack(access, &runs, (steps, block), panels, memory, &mut values[first..]);
                }
            });
        }
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
        let length = |axes: &[usize]| -> usize {
            axes.iter().map(|&axis| (tile[axis].maximum - tile[axis].minimum + 1).max(0) as usize).product()
        };
        let (rows, columns) = (length(&self.rows.axes), length(&self.columns.axes));
        let stride = self.columns.panels.singles(columns);
        scratch.sums.resize(scratch.sums.len().max(rows * stride), 0.0);
        if self.steps.count() == 0 {
            scratch.sums[..rows * stride].fill(0.0);
        }
        scratch.point.clear();
        scratch.point.extend(tile.iter().map(|range| range.minimum));
        scratch.point.resize(stages[0].expr.axes.len(), 0);
        let (mut row_panels, mut column_panels) = (self.rows.constant_panels(tile), self.columns.constant_panels(tile));
        for block in blocks(self.steps.count()) {
            let begins = block.start == 0;
            let Scratch { point, runs, rows: row_buffer, columns: column_buffer, sums } = &mut *scratch;
            let mut place = Place { point, runs, tile, memory };
            let steps = (&self.steps, &block);
            let row_block = self.rows.next_block(&mut row_panels, steps, rows, &mut place, row_buffer);
            let column_block = self.columns.next_block(&mut column_panels, steps, columns, &mut place, column_buffer);
            self.multiply((row_block, rows), (column_block, stride), block.len(), &mut sums[..rows * stride], begins);
        }
        let sums =
            Sums { values: &scratch.sums[..rows * stride], stride, rows: &self.rows.axes, columns: &self.columns.axes };
        self.epilogue.run(stages, tile, memory, &sums);
    }

    /// Multiplies the panels of a block.
    fn multiply(
        &self,
        (row_panels, rows): (&[f32], usize),
        (column_panels, stride): (&[f32], usize),
        steps: usize,
        sums: &mut [f32],
        begins: bool,
    ) {
        let Kernels { rows: height, columns: width, .. } = *self.kernels;
        let together = if rows <= 2 { stride.max(1) } else { width };
        for first_column in (0..stride).step_by(together) {
            let column_panels = &column_panels[first_column * steps..][..together * steps];
            for first in (0..rows).step_by(height) {
                let count = height.min(rows - first);
                self.kernels.multiply(&mut PanelProduct {
                    rows: count,
                    row_panel: &row_panels[first * steps..][..count * steps],
                    column_panels,
                    steps,
                    sums: &mut sums[first * stride + first_column..],
                    stride,
                    begins,
                });
            }
        }
    }
}

/// Where panels are packed from.
struct Place<'p> {
    point: &'p mut [i64],
    runs: &'p mut Runs,
    tile: &'p [Range],
    memory: &'p Memory<'p>,
}

impl Side {
    fn constant_panels(&self, tile: &[Range]) -> Option<&[f32]> {
        self.constant.as_ref().and_then(|constant| constant.of_tile(tile))
    }

    /// The panels of a block: the next of the constant ones, or what is packed into the buffer.
    fn next_block<'p, 'c: 'p>(
        &self,
        constant: &mut Option<&'c [f32]>,
        (steps, block): (&Steps, &Numbers<usize>),
        elements: usize,
        Place { point, runs, tile, memory }: &mut Place,
        buffer: &'p mut Vec<f32>,
    ) -> &'p [f32] {
        let singles = self.panels.singles(elements) * block.len();
        if let Some(panels) = constant {
            let (block, rest) = panels.split_at(singles);
            *panels = rest;
            return block;
        }
        buffer.resize(buffer.len().max(singles), 0.0);
        runs.find(&self.access, &self.axes, tile, point);
        pack(&self.access, runs, (steps, block.clone()), self.panels, memory, &mut buffer[..singles]);
        &buffer[..singles]
    }
}

/// The blocks of a reduction, as even as may be.
fn blocks(steps: usize) -> impl Iterator<Item = Numbers<usize>> {
    let count = steps.div_ceil(BLOCK_STEPS).max(1);
    let length = steps.div_ceil(count).max(1);
    (0..steps).step_by(length).map(move |first| first..steps.min(first + length))
}
