//! Sums through a stride, a phase at a time.
//!
//! Where a position is reached through taps that lie a stride apart, as in the gradient of a strided convolution, each
//! position is hit by the taps of one phase alone. A sum over all taps reads fills at all others.

use std::collections::BTreeSet;

use super::rebuild::Rebuild;
use crate::arena::{Arena, Id};
use crate::expr::{
    Atom, Axis, AxisId, AxisKind, BinaryOp, Condition, ExprBuilder, Guard, Index, Literal, Range, Read, ReadId,
    Reducer, Scalar, TensorExpr, substitute,
};
use crate::program::{Definition, ProgramBuilder, TensorId, TensorProgram};
use crate::types::{MAX_RANK, Shape};

/// The program with every sum through a stride over the taps of each position's phase alone. What is left out are products
/// with zero.
pub fn split_phases(program: &TensorProgram) -> TensorProgram {
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values() {
        let strides = statement.definition.expr().map(strides).unwrap_or_default();
        match (&statement.definition, strides.is_empty()) {
            (Definition::Compute(expr), false) => {
                let operands: Vec<TensorId> = statement.operands.iter().map(|&operand| builder.map(operand)).collect();
                let split = Split::new(expr, strides);
                builder.append(statement, |program| append(program, split, &operands, &expr.output().shape));
            }
            _ => _ = builder.keep(statement),
        }
    }
    builder.finish(program)
}

/// `position − tap + shift` is read where the stride divides it; without a tap axis `position + shift`.
#[derive(Clone, Copy, Debug)]
struct Stride {
    position: AxisId,
    tap: Option<AxisId>,
    stride: i64,
    /// In 0 … stride − 1.
    shift: i64,
}

impl Stride {
    /// The phases that are summed, which are all that have taps.
    fn phases(&self, expr: &TensorExpr) -> Range {
        match self.tap.map(|tap| expr.axes[tap].extent as i64) {
            None => Range::point((-self.shift).rem_euclid(self.stride)),
            Some(taps) if self.shift == 0 && expr.epilogue.is_none() => {
                Range { minimum: 0, maximum: taps.clamp(1, self.stride) - 1 }
            }
            Some(_) => Range { minimum: 0, maximum: self.stride - 1 },
        }
    }

    fn axes(&self) -> impl Iterator<Item = AxisId> {
        [self.position].into_iter().chain(self.tap)
    }
}

/// The strides through which an expression sums, of different axes.
fn strides(expr: &TensorExpr) -> Vec<Stride> {
    let mut found: Vec<Stride> = Vec::new();
    let keeps_fill = |read: &Read| read.guard.is_always() || is_zero(read.fill);
    if expr.reducer != Some(Reducer::Sum) || !expr.reads.values().all(keeps_fill) {
        return found;
    }
    for read in zeros(expr, &expr.body) {
        for stride in expr.reads[read].guard.conditions().iter().filter_map(|condition| stride(expr, condition)) {
            let is_known = |axis: AxisId| found.iter().any(|other| other.axes().any(|known| known == axis));
            if !stride.axes().any(is_known) {
                found.push(stride);
            }
        }
    }
    found.truncate(MAX_RANK.saturating_sub(expr.parallel().count()));
    found
}

/// The reads that make the scalar zero where they read their fill.
fn zeros(expr: &TensorExpr, scalar: &Scalar) -> Vec<ReadId> {
    match scalar {
        Scalar::Read(read) => {
            if is_zero(expr.reads[*read].fill) {
                vec![*read]
            } else {
                Vec::new()
            }
        }
        Scalar::Binary(BinaryOp::Multiply, left, right) => {
            [left, right].into_iter().flat_map(|factor| zeros(expr, factor)).collect()
        }
        Scalar::Select(_, value, other) if **other == Scalar::Literal(Literal::new(expr.body_element(), 0.0)) => {
            zeros(expr, value)
        }
        _ => Vec::new(),
    }
}

fn is_zero(fill: Literal) -> bool {
    fill == Literal::new(fill.element(), 0.0)
}

/// The stride of a condition, if it is one.
fn stride(expr: &TensorExpr, condition: &Condition) -> Option<Stride> {
    let (0, [(Atom::Mod(inner, stride), 1)], ..=0, 1) =
        (condition.index.offset(), condition.index.terms(), condition.lower, condition.upper)
    else {
        return None;
    };
    let kind = |axis: AxisId| expr.axes[axis].kind;
    let (position, tap, sign) = match inner.terms() {
        // Parallel axes come first.
        [(Atom::Axis(position), sign), (Atom::Axis(tap), other)]
            if *other == -sign && kind(*tap) == AxisKind::Reduced =>
        {
            (*position, Some(*tap), *sign)
        }
        [(Atom::Axis(position), sign)] if expr.epilogue.is_none() => (*position, None, *sign),
        _ => return None,
    };
    let is_position = kind(position) == AxisKind::Parallel && expr.axes[position].extent > 0 && sign.abs() == 1;
    is_position.then(|| Stride { position, tap, stride: *stride, shift: (sign * inner.offset()).rem_euclid(*stride) })
}

/// A sum with a quotient and a phase in the place of each position.
struct Split {
    expr: TensorExpr,
    strides: Vec<Stride>,
    /// The phases that are summed, of each stride.
    phases: Vec<Range>,
}

impl Split {
    fn new(original: &TensorExpr, strides: Vec<Stride>) -> Self {
        let phases: Vec<Range> = strides.iter().map(|stride| stride.phases(original)).collect();
        let mut axes: Arena<AxisId, Axis> = Arena::new();
        let mut places: Arena<AxisId, Place> = Arena::new();
        for (id, axis) in original.axes.iter() {
            let mut push = |extent: usize| axes.push(Axis { extent, ..*axis });
            let of_stride = strides.iter().zip(&phases).find(|(stride, _)| stride.axes().any(|axis| axis == id));
            places.push(match of_stride {
                None => Place::Other(push(axis.extent)),
                Some((stride, phases)) if stride.position == id => {
                    let quotients =
                        axis.extent.saturating_sub(phases.minimum as usize).div_ceil(stride.stride as usize).max(1);
                    let phase = (phases.maximum - phases.minimum + 1) as usize;
                    Place::Position(push(quotients), push(phase), phases.minimum)
                }
                Some((stride, _)) => Place::Tap(push(axis.extent.div_ceil(stride.stride as usize))),
            });
        }
        let range = |axis: AxisId| Range { minimum: 0, maximum: (axes[axis].extent as i64 - 1).max(0) };
        let place = |(axis, place): (AxisId, &Place)| place.index(axis, &strides, &places, &range);
        let replacement: Vec<Index> = places.iter().map(place).collect();
        let mut expr = substitute::replace_axes(original, &axes, &replacement);
        for (read, before) in expr.reads.values_mut().zip(original.reads.values()) {
            bound(read, before, original, &strides, &replacement, &range);
        }
        Self { expr, strides, phases }
    }
}

/// What stands for an axis, in axes of the split sum.
#[derive(Clone, Copy)]
enum Place {
    /// A quotient by the stride, a phase, and the first phase.
    Position(AxisId, AxisId, i64),
    Tap(AxisId),
    Other(AxisId),
}

impl Place {
    fn index(
        self,
        axis: AxisId,
        strides: &[Stride],
        places: &Arena<AxisId, Self>,
        range: &impl Fn(AxisId) -> Range,
    ) -> Index {
        let Some(Stride { position, stride, shift, .. }) =
            strides.iter().find(|stride| stride.axes().any(|of_stride| of_stride == axis))
        else {
            let Self::Other(axis) = self else { unreachable!("positions and taps have strides") };
            return Index::axis(axis);
        };
        let Self::Position(quotient, phase, first) = places[*position] else { unreachable!("a stride has a position") };
        let phase = Index::axis(phase).plus(first);
        match self {
            Self::Tap(step) => {
                // The remainder by the stride, as what a quotient leaves: so it cancels against the position.
                let reached = phase.plus(*shift);
                let left = reached.add(&reached.floor_div(*stride, range).times(-stride));
                Index::axis(step).times(*stride).add(&left)
            }
            Self::Position(..) | Self::Other(_) => Index::axis(quotient).times(*stride).add(&phase),
        }
    }
}

/// Keeps a read of the split sum to positions and taps that there are, where it names them.
fn bound(
    read: &mut Read,
    before: &Read,
    original: &TensorExpr,
    strides: &[Stride],
    replacement: &[Index],
    range: &impl Fn(AxisId) -> Range,
) {
    let named = axes_of(before);
    let limits = strides.iter().flat_map(Stride::axes).filter(|axis| named.contains(axis));
    let limits = limits.map(|axis| Condition {
        index: replacement[axis.index()].clone(),
        lower: 0,
        upper: original.axes[axis].extent as i64,
    });
    let all: Vec<Condition> = read.guard.conditions().iter().cloned().chain(limits).collect();
    read.guard = all.into_iter().fold(Guard::always(), |guard, condition| {
        guard.and(Condition { index: condition.index.with_remainders(), ..condition }, range)
    });
    read.index.iter_mut().for_each(|index| *index = index.with_remainders());
}

fn axes_of(read: &Read) -> BTreeSet<AxisId> {
    let mut axes = BTreeSet::new();
    let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
    read.index.iter().chain(conditions).for_each(|index| index.visit(&mut |axis| _ = axes.insert(axis), &mut |_| {}));
    axes
}

/// Appends a split sum, and its results where they belong.
fn append(program: &mut ProgramBuilder, split: Split, operands: &[TensorId], shape: &Shape) -> TensorId {
    let Split { expr, strides, phases } = split;
    let element = expr.element;
    let ty = expr.output();
    let positions: Vec<AxisId> = strides.iter().map(|stride| stride.position).collect();
    let result = program.compute(expr, operands);
    let mut movement = ExprBuilder::new();
    let axes = movement.parallels(shape);
    let operand = movement.operand(&ty);
    let (mut index, mut guard) = (Vec::new(), Guard::always());
    for axis in axes {
        let whole = Index::axis(axis);
        let Some(at) = positions.iter().position(|position| *position == axis) else {
            index.push(whole);
            continue;
        };
        let (stride, ranges) = (strides[at].stride, |axis| movement.range(axis));
        let phase = whole.modulo(stride, &ranges);
        guard = movement.guard(guard, phase.clone(), phases[at].minimum, phases[at].maximum + 1);
        index.extend([whole.floor_div(stride, &ranges), phase.plus(-phases[at].minimum)]);
    }
    let body = movement.guarded_read(operand, index, guard, Literal::new(element, 0.0));
    program.compute(movement.map(element, body), &[result])
}
