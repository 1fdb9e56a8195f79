//! Sums through a stride, a phase at a time.
//!
//! Where a position is reached through taps that lie a stride apart, as in the gradient of a strided convolution, each
//! position is hit by the taps of one phase alone. A sum over all taps reads fills at all others.

use std::collections::BTreeSet;

use super::rewriting::rebuild::Rebuild;
use crate::arena::{Arena, Id};
use crate::expr::{
    Atom, Axis, AxisId, AxisKind, BinaryOp, Condition, ExprBuilder, Guard, Index, Literal, Range, Read, ReadId,
    Reducer, Scalar, TensorExpr, substitute,
};
use crate::program::{Definition, ProgramBuilder, TensorId, TensorProgram};
use crate::types::Shape;

/// Most axes of an expression that strides are made of.
const MOST_AXES: usize = 8;

/// Rewrites every sum through a stride so that each position sums the taps of its phase alone, where that leaves out at least
/// `fewest` products per position. Products with zero are left out, so a value changes only where the other factor is infinite
/// or NaN.
pub fn split_phases(program: &TensorProgram, fewest: usize) -> TensorProgram {
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values() {
        match (&statement.definition, statement.definition.expr().and_then(|expr| Split::paying(expr, fewest))) {
            (Definition::Compute(expr), Some(split)) => {
                let operands: Vec<TensorId> = statement.operands.iter().map(|&operand| builder.map(operand)).collect();
                builder.append(statement, |program| append(program, split, &operands, &expr.output().shape));
            }
            _ => _ = builder.keep(statement),
        }
    }
    builder.finish(program)
}

/// `position − tap + shift` is read where the stride divides it; without an axis of taps, of the only tap 0.
///
/// The position is written as `stride · quotient + phase − shift`, and the taps that reach it as `stride · step + phase`. What
/// is read is then a function of quotient and step alone.
#[derive(Clone, Copy, Debug)]
struct Stride {
    position: AxisId,
    tap: Option<AxisId>,
    stride: i64,
    /// In 0 … stride − 1.
    shift: i64,
}

impl Stride {
    fn taps(&self, expr: &TensorExpr) -> usize {
        self.tap.map_or(1, |tap| expr.axes[tap].extent)
    }

    /// How many phases are summed: those that have taps, or all where something follows a sum.
    fn phases(&self, expr: &TensorExpr) -> usize {
        let all = self.stride as usize;
        if expr.epilogue.is_some() { all } else { self.taps(expr).clamp(1, all) }
    }

    fn quotients(&self, expr: &TensorExpr) -> usize {
        (expr.axes[self.position].extent + self.shift as usize).div_ceil(self.stride as usize)
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
    found.truncate(MOST_AXES.saturating_sub(expr.parallel().count()));
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
    /// How many phases are summed, of each stride.
    phases: Vec<usize>,
}

impl Split {
    /// The split of a sum that leaves out so many products a position.
    fn paying(expr: &TensorExpr, fewest: usize) -> Option<Self> {
        let strides = strides(expr);
        let points = |expr: &TensorExpr| expr.axes.values().map(|axis| axis.extent).fold(1, usize::saturating_mul);
        let split = (!strides.is_empty()).then(|| Self::new(expr, strides))?;
        let left_out = points(expr).saturating_sub(points(&split.expr));
        (left_out >= fewest.saturating_mul(expr.output().shape.elements())).then_some(split)
    }

    fn new(original: &TensorExpr, strides: Vec<Stride>) -> Self {
        let phases: Vec<usize> = strides.iter().map(|stride| stride.phases(original)).collect();
        let (axes, replacement) = replacement(original, &strides, &phases);
        let mut expr = substitute::replace_axes(original, &axes, &replacement);
        let limit = |axis: AxisId| Condition {
            index: replacement[axis.index()].clone(),
            lower: 0,
            upper: original.axes[axis].extent as i64,
        };
        let range = |axis: AxisId| Range { minimum: 0, maximum: (axes[axis].extent as i64 - 1).max(0) };
        for (read, before) in expr.reads.values_mut().zip(original.reads.values()) {
            let named = axes_of(before);
            let limits = |axes: &mut dyn Iterator<Item = AxisId>| -> Vec<Condition> {
                axes.filter(|axis| named.contains(axis)).map(limit).collect()
            };
            let positions = limits(&mut strides.iter().map(|stride| stride.position));
            let taps = limits(&mut strides.iter().filter_map(|stride| stride.tap));
            bound(read, &original.operands[read.operand].shape, positions, taps, &range);
        }
        Self { expr, strides, phases }
    }
}

/// The axes of a split sum, and what each axis of the original is in them.
fn replacement(original: &TensorExpr, strides: &[Stride], phases: &[usize]) -> (Arena<AxisId, Axis>, Vec<Index>) {
    let mut axes: Arena<AxisId, Axis> = Arena::new();
    let mut replacement: Vec<Index> = Vec::new();
    let mut phase_axes: Vec<Option<AxisId>> = vec![None; strides.len()];
    for (id, axis) in original.axes.iter() {
        let mut push = |extent: usize| axes.push(Axis { extent, ..*axis });
        let Some(at) = strides.iter().position(|stride| stride.axes().any(|of_stride| of_stride == id)) else {
            replacement.push(Index::axis(push(axis.extent)));
            continue;
        };
        let Stride { position, stride, shift, .. } = strides[at];
        let whole = match position == id {
            true => {
                let quotient = push(strides[at].quotients(original));
                phase_axes[at] = Some(push(phases[at]));
                Index::axis(quotient).times(stride).plus(-shift)
            }
            false => Index::axis(push(axis.extent.div_ceil(stride as usize))).times(stride),
        };
        let phase = phase_axes[at].expect("positions are parallel axes, which come before taps");
        replacement.push(whole.add(&Index::axis(phase)));
    }
    (axes, replacement)
}

/// Keeps a read of a split sum to the taps that there are, and to the positions where it could lie outside of its tensor
/// otherwise: other results are not used.
fn bound(
    read: &mut Read,
    shape: &Shape,
    positions: Vec<Condition>,
    taps: Vec<Condition>,
    range: &impl Fn(AxisId) -> Range,
) {
    let and = |guard: Guard, condition: Condition| guard.and(condition, range);
    let kept = read.guard.conditions().iter().filter(|condition| !positions.contains(condition)).cloned();
    let guard = kept.chain(taps).fold(Guard::always(), and);
    let is_inside = lies_inside(&read.index, &guard, shape, range);
    read.guard = if is_inside { guard } else { positions.into_iter().fold(guard, and) };
}

/// Whether each index lies inside its dimension, or a condition says so.
fn lies_inside(index: &[Index], guard: &Guard, shape: &Shape, range: &impl Fn(AxisId) -> Range) -> bool {
    index.iter().zip(shape.iter()).all(|(index, &extent)| {
        let inside = Condition { index: index.clone(), lower: 0, upper: extent as i64 };
        index.range(range).within(inside.lower, inside.upper) || guard.conditions().contains(&inside)
    })
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
        let (Stride { stride, shift, .. }, ranges) = (strides[at], |axis| movement.range(axis));
        let shifted = whole.plus(shift);
        let phase = shifted.modulo(stride, &ranges);
        guard = movement.guard(guard, phase.clone(), 0, phases[at] as i64);
        index.extend([shifted.floor_div(stride, &ranges), phase]);
    }
    let body = movement.guarded_read(operand, index, guard, Literal::new(element, 0.0));
    program.compute(movement.map(element, body), &[result])
}
