//! The regions that rTasks read and write.
//!
//! Regions are boxes in the coordinates of a tensor's root, so that a part of a concat and the whole of it can be
//! compared.

pub mod grid;
pub mod tile_boxes;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Index, Range, region};
use warpweave_graph::program::TensorId;

use crate::body::StageSource;
use crate::plan::{MemoryPlan, ROperator, RTask};

/// A box of elements of a root tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Region {
    /// The root.
    pub root: TensorId,
    /// An inclusive range a dimension.
    pub ranges: Vec<Range>,
}

impl Region {
    /// The whole of a tensor.
    pub fn whole(memory: &MemoryPlan, tensor: TensorId) -> Self {
        let shape = &memory.tensors[tensor].ty.shape;
        let ranges = shape.iter().map(|&extent| Range { minimum: 0, maximum: extent as i64 - 1 }).collect();
        Self::of(memory, tensor, ranges)
    }

    /// A box of a tensor, given in the tensor's own coordinates.
    pub fn of(memory: &MemoryPlan, tensor: TensorId, mut ranges: Vec<Range>) -> Self {
        let layout = &memory.tensors[tensor].layout;
        let mut rest = layout.offset;
        for (range, &stride) in ranges.iter_mut().zip(&layout.strides) {
            let start = (rest / stride) as i64;
            rest %= stride;
            *range = Range { minimum: range.minimum + start, maximum: range.maximum + start };
        }
        Self { root: layout.root, ranges }
    }

    /// Whether two boxes share an element.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meets = |(a, b): (&Range, &Range)| a.minimum <= b.maximum && b.minimum <= a.maximum;
        self.root == other.root && self.ranges.iter().zip(&other.ranges).all(meets)
    }

    /// Whether all elements of another box are in this one.
    pub fn holds(&self, other: &Self) -> bool {
        let inside = |(own, other): (&Range, &Range)| own.minimum <= other.minimum && other.maximum <= own.maximum;
        self.root == other.root && self.ranges.iter().zip(&other.ranges).all(inside)
    }

    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.ranges.iter().map(|range| (range.maximum - range.minimum + 1) as u64).product()
    }
}

/// The range of every axis of a stage that one tile covers.
pub fn tile_ranges(operator: &ROperator, stage: usize, tile: u32) -> Vec<Range> {
    let expr = &operator.kernel.body().stages[stage].expr;
    let mut ranges = region::whole(expr);
    let grid = operator.kernel.grid();
    let mut rest = tile as usize;
    for axis in (0..operator.kernel.body().tile_rank).rev() {
        let coordinate = rest % grid[axis];
        rest /= grid[axis];
        let extent = expr.axes[AxisId::from_index(axis)].extent;
        let first = coordinate * operator.kernel.tile()[axis];
        let last = (first + operator.kernel.tile()[axis]).min(extent) - 1;
        ranges[axis] = Range { minimum: first as i64, maximum: last as i64 };
    }
    ranges
}

/// The boxes that an rTask reads; they may over-approximate.
pub fn reads(operator: &ROperator, memory: &MemoryPlan, task: RTask) -> Vec<Region> {
    regions(operator, memory, &read_boxes(operator, task.tile))
}

/// A box of an operand, in its tensor's own coordinates: the position among the operands, and an inclusive range a dimension.
pub type ReadBox = (usize, Vec<Range>);

/// What the rTask of a tile reads, whichever tensors the operands are.
pub fn read_boxes(operator: &ROperator, tile: u32) -> Vec<ReadBox> {
    let mut boxes: Vec<ReadBox> = Vec::new();
    let main = (0..operator.kernel.body().stages.len()).map(|position| tile_ranges(operator, position, tile));
    let ranges = operator.kernel.staged_ranges(tile).into_iter().chain(main);
    for (stage, ranges) in operator.kernel.body().staged.iter().chain(&operator.kernel.body().stages).zip(ranges) {
        for (id, read) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[read.operand] else { continue };
            let Some(ranges) = region::input_region(&stage.expr, id, &ranges) else { continue };
            boxes.push((operand, ranges));
        }
    }
    boxes
}

/// Boxes of an rOperator's operands as regions, each once.
pub fn regions<'b>(
    operator: &ROperator,
    memory: &MemoryPlan,
    boxes: impl IntoIterator<Item = &'b ReadBox>,
) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for (operand, ranges) in boxes {
        let found = Region::of(memory, operator.kernel.body().operands[*operand], ranges.clone());
        if !regions.contains(&found) {
            regions.push(found);
        }
    }
    regions
}

/// The smallest boxes around what an rTask writes. The exact sets of an operator's rTasks are disjoint and cover its
/// outputs, because tiles partition the tile axes and output indices visit every element once.
pub fn writes(operator: &ROperator, memory: &MemoryPlan, task: RTask) -> Vec<Region> {
    let mut regions = Vec::new();
    for (position, stage) in operator.kernel.body().stages.iter().enumerate() {
        let Some(output) = &stage.output else { continue };
        let ranges = tile_ranges(operator, position, task.tile);
        let range = |axis: AxisId| ranges[axis.index()];
        let ranges = output.index.iter().map(|index| index.range(&range)).collect();
        regions.push(Region::of(memory, operator.kernel.body().outputs[output.position], ranges));
    }
    regions
}

/// Whether an rTask writes an element of a box: exact, point by point, where [`writes`] only encloses.
pub fn writes_into(operator: &ROperator, memory: &MemoryPlan, task: RTask, region: &Region) -> bool {
    operator.kernel.body().stages.iter().enumerate().any(|(position, stage)| {
        let Some(output) = &stage.output else { return false };
        let tensor = operator.kernel.body().outputs[output.position];
        let ranges = tile_ranges(operator, position, task.tile);
        let range = |axis: AxisId| ranges[axis.index()];
        let around = Region::of(memory, tensor, output.index.iter().map(|index| index.range(&range)).collect());
        if region.holds(&around) || !region.overlaps(&around) {
            return region.holds(&around);
        }
        if is_box(&output.index) {
            return true;
        }
        let axes: Vec<usize> = stage.expr.parallel().map(Id::index).collect();
        let mut point: Vec<i64> = ranges.iter().map(|range| range.minimum).collect();
        loop {
            let at = |axis: AxisId| Range::point(point[axis.index()]);
            let element = output.index.iter().map(|index| index.range(&at)).collect();
            if Region::of(memory, tensor, element).overlaps(region) {
                return true;
            }
            let Some(next) = axes.iter().rposition(|&axis| point[axis] < ranges[axis].maximum) else { return false };
            point[axes[next]] += 1;
            for &axis in &axes[next + 1..] {
                point[axis] = ranges[axis].minimum;
            }
        }
    })
}

/// Whether indices over a box of axes visit every element of the box around them: each is one axis, shifted, that no other
/// names, or constant.
pub(super) fn is_box(index: &[Index]) -> bool {
    let mut axes: Vec<AxisId> = Vec::new();
    index.iter().all(|index| match index.terms() {
        [] => true,
        [(Atom::Axis(axis), 1)] if !axes.contains(axis) => {
            axes.push(*axis);
            true
        }
        _ => false,
    })
}
