//! Quasi-affine indices as integer expressions.

use std::collections::HashMap;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Guard, Index, IndirectIndex, Range, TensorExpr};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;

/// Where the axes of an expression stand: one `I32` expression an axis, and the places that reads name.
pub(crate) struct Coordinates<'c> {
    pub(crate) axes: &'c [Expression],
    pub(crate) places: &'c HashMap<IndirectIndex, LocalId>,
}

/// The value of an index. Coefficients other than 1 and constants other than 0 are operands.
pub(crate) fn emit_index(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    index: &Index,
    at: &Coordinates,
) -> Result<Expression, LowerError> {
    let mut sum: Option<Expression> = None;
    for (atom, coefficient) in index.terms() {
        let value = emit_atom(emitter, expr, atom, at)?;
        if value == Expression::i32(0) {
            continue;
        }
        let term = match coefficient {
            1 => value,
            other => {
                let factor = emitter.operand(*other)?;
                multiply(value, factor)
            }
        };
        sum = Some(sum.map_or(term.clone(), |sum| add(sum, term)));
    }
    match (sum, index.offset()) {
        (None, constant) => emitter.operand(constant),
        (Some(sum), 0) => Ok(sum),
        (Some(sum), constant) => {
            let constant = emitter.operand(constant)?;
            Ok(add(sum, constant))
        }
    }
}

fn emit_atom(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    atom: &Atom,
    at: &Coordinates,
) -> Result<Expression, LowerError> {
    match atom {
        Atom::Axis(axis) => Ok(at.axes[axis.index()].clone()),
        Atom::Indirect(place) => {
            let local = *at.places.get(place).expect("places are checked before the indices that use them");
            Ok(Expression::Local(local))
        }
        Atom::Clamp(inner, low, high) => {
            let inner = emit_index(emitter, expr, inner, at)?;
            let (low, high) = (emitter.operand(*low)?, emitter.operand(*high)?);
            Ok(binary(BinaryOp::Minimum, binary(BinaryOp::Maximum, inner, low), high))
        }
        Atom::FloorDiv(inner, divisor) => divide(emitter, expr, inner, *divisor, at),
        Atom::Mod(inner, divisor) => remainder(emitter, expr, inner, *divisor, at),
    }
}

/// Largest value that a division by multiplication takes.
const DIVIDEND_LIMIT: i64 = 1 << 31;

/// The multiple of `divisor` that makes an index of this range non-negative, if the sum stays within reach.
fn bias(range: Range, divisor: i64) -> Option<i64> {
    let bias = if range.minimum < 0 { -range.minimum.div_euclid(divisor) * divisor } else { 0 };
    range.maximum.checked_add(bias).filter(|top| *top < DIVIDEND_LIMIT).map(|_| bias)
}

fn divide(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    inner: &Index,
    divisor: i64,
    at: &Coordinates,
) -> Result<Expression, LowerError> {
    let range = inner.range(&|axis: AxisId| expr.range(axis));
    let Some(bias) = bias(range, divisor) else {
        let value = emit_index(emitter, expr, inner, at)?;
        let value = Expression::Local(emitter.bind(ScalarType::I32, value));
        let rest = floor_remainder(emitter, value.clone(), divisor)?;
        let divisor = emitter.operand(divisor)?;
        return Ok(binary(BinaryOp::Divide, binary(BinaryOp::Subtract, value, rest), divisor));
    };
    let value = emit_index(emitter, expr, &inner.plus(bias), at)?;
    let position = emitter.divisor(divisor)?;
    let quotient = Expression::FastDivide(Box::new(value), position);
    if bias == 0 {
        return Ok(quotient);
    }
    let shift = emitter.operand(bias / divisor)?;
    Ok(binary(BinaryOp::Subtract, quotient, shift))
}

fn remainder(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    inner: &Index,
    divisor: i64,
    at: &Coordinates,
) -> Result<Expression, LowerError> {
    let range = inner.range(&|axis: AxisId| expr.range(axis));
    let Some(bias) = bias(range, divisor) else {
        let value = emit_index(emitter, expr, inner, at)?;
        return floor_remainder(emitter, value, divisor);
    };
    let value = emit_index(emitter, expr, &inner.plus(bias), at)?;
    let value = Expression::Local(emitter.bind(ScalarType::I32, value));
    let position = emitter.divisor(divisor)?;
    let quotient = Expression::FastDivide(Box::new(value.clone()), position);
    let divisor = emitter.operand(divisor)?;
    Ok(binary(BinaryOp::Subtract, value, multiply(quotient, divisor)))
}

/// The remainder in 0 … divisor − 1 of a value that may be negative or anything else.
fn floor_remainder(emitter: &mut Emitter, value: Expression, divisor: i64) -> Result<Expression, LowerError> {
    let divisor = emitter.operand(divisor)?;
    let rest = Expression::Local(emitter.bind(ScalarType::I32, binary(BinaryOp::Remainder, value, divisor.clone())));
    let negative = less(rest.clone(), Expression::i32(0));
    Ok(Expression::Select(Box::new(negative), Box::new(add(rest.clone(), divisor)), Box::new(rest)))
}

/// Whether a guard holds; `None` if it always does.
pub(crate) fn emit_guard(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    guard: &Guard,
    at: &Coordinates,
) -> Result<Option<Expression>, LowerError> {
    let mut holds = None;
    for condition in guard.conditions() {
        let range = condition.index.range(&|axis: AxisId| expr.range(axis));
        let value = emit_index(emitter, expr, &condition.index, at)?;
        let value = Expression::Local(emitter.bind(ScalarType::I32, value));
        if range.minimum < condition.lower {
            let lower = emitter.operand(condition.lower)?;
            holds = both(holds, Some(binary(BinaryOp::LessEqual, lower, value.clone())));
        }
        if range.maximum >= condition.upper {
            let upper = emitter.operand(condition.upper)?;
            holds = both(holds, Some(less(value, upper)));
        }
    }
    Ok(holds)
}

/// The same with each comparison in a local, so that no operand is loaded under a condition.
pub(crate) fn bind_guard(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    guard: &Guard,
    at: &Coordinates,
) -> Result<Option<Expression>, LowerError> {
    Ok(emit_guard(emitter, expr, guard, at)?.map(|holds| bind_comparisons(emitter, holds)))
}

/// Conditions that hold together, with each in a local.
pub(crate) fn bind_comparisons(emitter: &mut Emitter, holds: Expression) -> Expression {
    match holds {
        Expression::Constant(_) | Expression::Local(_) => holds,
        Expression::Binary(BinaryOp::And, left, right) => {
            let (left, right) = (bind_comparisons(emitter, *left), bind_comparisons(emitter, *right));
            binary(BinaryOp::And, left, right)
        }
        comparison => emitter.bind(ScalarType::Bool, comparison).into(),
    }
}
