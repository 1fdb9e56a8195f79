//! Where a factor of a contraction lies in memory, if it is one read at linear indices.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Index, Scalar};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::plan::{MemoryPlan, ROperator};
use warpweave_plan::template::contraction::tile_load::plain_read;
use warpweave_plan::template::staged::StagedBox;

use crate::host::memory::{HostSpace, address};
use crate::host::stage::strides;

/// A number that is linear in the axes of a stage: one coefficient an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Linear {
    constant: i64,
    coefficients: Vec<i64>,
}

impl Linear {
    /// An index over this many axes; `None` if it is not linear.
    fn new(index: &Index, axes: usize) -> Option<Self> {
        let mut coefficients = vec![0; axes];
        for (atom, coefficient) in index.terms() {
            match atom {
                Atom::Axis(axis) => coefficients[axis.index()] += coefficient,
                Atom::FloorDiv(..) | Atom::Mod(..) | Atom::Clamp(..) | Atom::Indirect(_) => return None,
            }
        }
        Some(Self { constant: index.offset(), coefficients })
    }

    /// Its value at a point; axes that it has no coordinate of are 0.
    pub(super) fn at(&self, point: &[i64]) -> i64 {
        self.constant + self.coefficients.iter().zip(point).map(|(factor, axis)| factor * axis).sum::<i64>()
    }

    /// What it grows by along an axis.
    pub(super) fn along(&self, axis: usize) -> i64 {
        self.coefficients[axis]
    }
}

/// A number that has to lie in an interval for a read to take place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    pub(super) number: Linear,
    pub(super) lower: i64,
    pub(super) upper: i64,
}

/// Elements of floating point in memory, at linear indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Access {
    pub(super) space: HostSpace,
    /// How they are stored: singles, or fewer bits that are widened.
    pub(super) element: ElementType,
    /// Bytes to element 0.
    offset: i64,
    /// The number of the element.
    pub(super) position: Linear,
    pub(super) conditions: Vec<Condition>,
    /// The value where a condition does not hold.
    pub(super) fill: f32,
}

impl Access {
    /// Where a scalar of a stage of singles lies; `None` if it is not one read of memory at linear indices.
    pub(super) fn new(
        operator: &ROperator,
        stage: &Stage,
        scalar: &Scalar,
        memory: &MemoryPlan,
        boxes: &[StagedBox],
    ) -> Option<Self> {
        let read = &stage.expr.reads[plain_read(&stage.expr, scalar)?];
        let axes = stage.expr.axes.len();
        let linear = |index: &Index| Linear::new(index, axes);
        let (space, element, offset, index) = match stage.sources[read.operand] {
            StageSource::Stage(_) => return None,
            StageSource::Staged(earlier) => {
                let index = Index::linear(&read.index, &strides(&boxes[earlier]), 0);
                (HostSpace::Staged(earlier), operator.body.staged[earlier].expr.element, 0, index)
            }
            StageSource::Operand(operand) => {
                let planned = &memory.tensors[operator.body.operands[operand]];
                let buffer = planned.buffer?;
                let element = planned.ty.element;
                let index = Index::linear(&read.index, &planned.layout.strides, planned.layout.offset);
                (HostSpace::Plan(buffer.space), element, address(buffer, element, 0), index)
            }
        };
        let conditions = read.guard.conditions().iter().map(|condition| {
            let (lower, upper) = (condition.lower, condition.upper);
            linear(&condition.index).map(|number| Condition { number, lower, upper })
        });
        Some(Self {
            space,
            element,
            offset,
            position: linear(&index)?,
            conditions: conditions.collect::<Option<_>>()?,
            fill: read.fill.to_f64() as f32,
        })
    }

    /// Where a stage writes; `None` if it does not.
    pub(super) fn of_output(operator: &ROperator, stage: &Stage, memory: &MemoryPlan) -> Option<Self> {
        let output = stage.output.as_ref()?;
        let planned = &memory.tensors[operator.body.outputs[output.position]];
        let (buffer, element) = (planned.buffer?, planned.ty.element);
        let index = Index::linear(&output.index, &planned.layout.strides, planned.layout.offset);
        Some(Self {
            space: HostSpace::Plan(buffer.space),
            element,
            offset: address(buffer, element, 0),
            position: Linear::new(&index, stage.expr.axes.len())?,
            conditions: Vec::new(),
            fill: 0.0,
        })
    }

    /// The byte of an element.
    pub(super) fn byte(&self, position: i64) -> i64 {
        self.offset + position * self.element.bytes() as i64
    }

    /// Whether an axis takes part in a condition.
    pub(super) fn is_guarded_along(&self, axis: usize) -> bool {
        self.conditions.iter().any(|condition| condition.number.along(axis) != 0)
    }

    /// Whether an axis and the one inside of it, over `extent` values, are like one axis.
    pub(super) fn merges(&self, outer: usize, inner: usize, extent: i64) -> bool {
        let numbers = self.conditions.iter().map(|condition| &condition.number).chain([&self.position]);
        numbers.into_iter().all(|number| number.along(outer) == number.along(inner) * extent)
    }
}

/// The axes of a stage that have this kind, as positions.
pub(super) fn positions(axes: impl IntoIterator<Item = AxisId>) -> Vec<usize> {
    axes.into_iter().map(Id::index).collect()
}
