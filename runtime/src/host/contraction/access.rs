//! Where a factor of a contraction lies in memory, if it is one read at indices that every axis adds its part to.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Index, Scalar};
use warpweave_plan::plan::BufferSpace;
use warpweave_plan::template::contraction::stored_read;

use crate::host::memory::{Base, HostSpace, Memory};
use crate::host::vector::{Output, Source, StageReads};

/// A number that is a sum of one part an axis of a stage, each linear along the axis or along pieces of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Linear {
    constant: i64,
    parts: Vec<Part>,
}

/// Most values of an axis along which an index is not linear.
const LONGEST_CURVE: usize = 1 << 20;

/// What an axis adds: the number of the piece's start, and so much a step inside of the piece.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    step: i64,
    /// Values of the axis in a piece; all of them where the part is linear.
    piece: usize,
    starts: Vec<i64>,
}

impl Part {
    /// The part of these values along an axis.
    fn new(values: &[i64]) -> Self {
        let step = if let [first, second, ..] = values { second - first } else { 0 };
        let breaks = (1..values.len()).find(|&at| values[at] - values[at - 1] != step);
        let piece = breaks.unwrap_or(values.len()).max(1);
        let even = (0..values.len()).all(|at| values[at] == values[at / piece * piece] + (at % piece) as i64 * step);
        let (piece, step) = if even { (piece, step) } else { (1, 0) };
        Self { step, piece, starts: values.iter().copied().step_by(piece).collect() }
    }

    fn at(&self, value: i64) -> i64 {
        match self.starts.as_slice() {
            [start] => start + self.step * value,
            starts => {
                let value = usize::try_from(value).unwrap_or(0);
                let start = starts.get(value / self.piece).copied().unwrap_or(0);
                start + self.step * (value % self.piece) as i64
            }
        }
    }
}

impl Linear {
    /// An index over these axes; `None` if it is no such sum.
    fn new(index: &Index, extents: &[usize]) -> Option<Self> {
        let mut parts: Vec<Part> = extents.iter().map(|&piece| Part { step: 0, piece, starts: vec![0] }).collect();
        let mut curved: Vec<(usize, Index)> = Vec::new();
        for (atom, coefficient) in index.terms() {
            if let Atom::Axis(axis) = atom {
                parts[axis.index()].step += coefficient;
                continue;
            }
            let term = Index::of(atom.clone()).times(*coefficient);
            let (mut axes, mut is_free) = (Vec::new(), true);
            term.visit(&mut |axis| axes.push(axis.index()), &mut |_| is_free = false);
            axes.sort_unstable();
            axes.dedup();
            let [axis] = axes[..] else { return None };
            curved.push((axis, Some(term).filter(|_| is_free)?));
        }
        for axis in 0..extents.len() {
            if curved.iter().any(|(of, _)| *of == axis) {
                if extents[axis] > LONGEST_CURVE {
                    return None;
                }
                let terms = || curved.iter().filter(|(of, _)| *of == axis);
                let curve = |value: i64| terms().map(|(_, term)| term.evaluate(&|_| value, &|_| 0)).sum::<i64>();
                let step = parts[axis].step;
                let values: Vec<i64> = (0..extents[axis] as i64).map(|value| curve(value) + step * value).collect();
                parts[axis] = Part::new(&values);
            }
        }
        Some(Self { constant: index.offset(), parts })
    }

    /// Its value at a point; axes that it has no coordinate of are 0.
    pub(super) fn at(&self, point: &[i64]) -> i64 {
        let mut number = self.constant;
        for (axis, value) in point.iter().enumerate().take(self.parts.len()) {
            number += self.parts[axis].at(*value);
        }
        for part in &self.parts[point.len().min(self.parts.len())..] {
            number += part.at(0);
        }
        number
    }

    /// Its value, if no axis adds to it.
    pub(super) fn constant_value(&self) -> Option<i64> {
        let is_constant = self.parts.iter().all(|part| part.step == 0 && part.starts == [0]);
        is_constant.then_some(self.constant)
    }

    /// What it grows by along an axis, or along a piece of it.
    pub(super) fn along(&self, axis: usize) -> i64 {
        self.parts[axis].step
    }

    /// What an axis adds to it at a value, beyond what it adds at 0.
    pub(super) fn moved(&self, axis: usize, value: i64) -> i64 {
        self.parts[axis].at(value) - self.parts[axis].at(0)
    }

    /// Values of an axis along which it is linear.
    fn piece(&self, axis: usize) -> usize {
        self.parts[axis].piece
    }

    fn is_constant_along(&self, axis: usize) -> bool {
        self.parts[axis].step == 0 && self.parts[axis].starts.len() <= 1
    }
}

/// A number that has to lie in an interval for a read to take place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    pub(super) number: Linear,
    pub(super) lower: i64,
    pub(super) upper: i64,
}

/// Elements of floating point in memory, or integers of at most 32 bits as the bits of singles, at linear indices.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Access {
    pub(super) space: HostSpace,
    /// How they are stored: singles, or fewer bits that are widened.
    pub(super) element: ElementType,
    /// The byte of element 0.
    base: Base,
    /// The number of the element.
    pub(super) position: Linear,
    pub(super) conditions: Vec<Condition>,
    /// The value where a condition does not hold.
    pub(super) fill: f32,
}

impl Access {
    /// Where a scalar of a stage lies; `None` if it is not one read of memory at linear indices.
    pub(super) fn new(stage: &StageReads, scalar: &Scalar) -> Option<Self> {
        let id = stored_read(&stage.expr, scalar)?;
        let Source::Memory { space, element, base, index } = &stage.sources[id] else { return None };
        let read = &stage.expr.reads[id];
        let extents: Vec<usize> = stage.expr.axes.values().map(|axis| axis.extent).collect();
        let conditions = read.guard.conditions().iter().map(|condition| {
            let (lower, upper) = (condition.lower, condition.upper);
            Linear::new(&condition.index, &extents).map(|number| Condition { number, lower, upper })
        });
        Some(Self {
            space: *space,
            element: *element,
            base: *base,
            position: Linear::new(index, &extents)?,
            conditions: conditions.collect::<Option<_>>()?,
            fill: match element.is_float() {
                true => read.fill.to_f64() as f32,
                false => f32::from_bits(read.fill.to_i64() as u32),
            },
        })
    }

    /// Where a stage writes; `None` if it does not.
    pub(super) fn of_output(stage: &StageReads) -> Option<Self> {
        let Output { element, base, index } = stage.output.as_ref()?;
        let extents: Vec<usize> = stage.expr.axes.values().map(|axis| axis.extent).collect();
        Some(Self {
            space: HostSpace::Plan(BufferSpace::Arena),
            element: *element,
            base: *base,
            position: Linear::new(index, &extents)?,
            conditions: Vec::new(),
            fill: 0.0,
        })
    }

    /// Singles of the weights at an index over these axes, where conditions on numbers hold, and `fill` elsewhere.
    #[cfg(test)]
    pub(super) fn of_weights(index: &Index, conditions: &[(Index, i64, i64)], extents: &[usize], fill: f32) -> Self {
        let linear = |index: &Index| Linear::new(index, extents).expect("a sum of parts of axes");
        let condition = |(index, lower, upper): &(Index, i64, i64)| {
            let (number, lower, upper) = (linear(index), *lower, *upper);
            Condition { number, lower, upper }
        };
        Self {
            space: HostSpace::Plan(BufferSpace::Weights),
            element: ElementType::F32,
            base: Base::FIRST,
            position: linear(index),
            conditions: conditions.iter().map(condition).collect(),
            fill,
        }
    }

    /// The byte of an element.
    pub(super) fn byte(&self, position: i64, memory: &Memory) -> i64 {
        memory.base(self.base) + position * self.element.bytes() as i64
    }

    /// The same elements, counted from the first base of an rOperator.
    pub(super) fn at_first_base(&self) -> Self {
        Self { base: Base::FIRST, ..self.clone() }
    }

    /// Whether an axis takes part in a condition.
    pub(super) fn is_guarded_along(&self, axis: usize) -> bool {
        self.conditions.iter().any(|condition| !condition.number.is_constant_along(axis))
    }

    /// Whether the factor varies along an axis.
    pub(super) fn varies_along(&self, axis: usize) -> bool {
        !self.position.is_constant_along(axis) || self.is_guarded_along(axis)
    }

    /// Whether an axis and the one inside of it, over all its `extent` values, are like one axis.
    pub(super) fn merges(&self, outer: usize, inner: usize, extent: i64) -> bool {
        let is_linear = [outer, inner].into_iter().all(|axis| self.is_linear_along(axis));
        is_linear && self.numbers().all(|number| number.along(outer) == number.along(inner) * extent)
    }

    /// Values of an axis along which everything is linear, from every multiple of their number on.
    pub(super) fn piece(&self, axis: usize) -> usize {
        self.numbers().map(|number| number.piece(axis)).fold(0, common_divisor)
    }

    /// The axes that it has a number for.
    pub(super) fn axes(&self) -> usize {
        self.position.parts.len()
    }

    /// Whether everything is linear along a whole axis.
    pub(super) fn is_linear_along(&self, axis: usize) -> bool {
        self.numbers().all(|number| number.parts[axis].starts.len() <= 1)
    }

    fn numbers(&self) -> impl Iterator<Item = &Linear> {
        self.conditions.iter().map(|condition| &condition.number).chain([&self.position])
    }
}

/// The greatest common divisor; of 0 and a number that number.
pub(super) fn common_divisor(one: usize, other: usize) -> usize {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

/// The axes of a stage that have this kind, as positions.
pub(super) fn positions(axes: impl IntoIterator<Item = AxisId>) -> Vec<usize> {
    axes.into_iter().map(Id::index).collect()
}
