//! Reducers: their neutral elements and how they combine.

use warpweave_graph::ElementType;
use warpweave_graph::expr::{self, Literal, Reducer, Scalar};

use super::LowerError;
use super::emitter::Emitter;
use super::scalar::{Point, emit_literal};
use crate::kernel_ir::{BinaryOp, Expression, LocalId, ScalarType};

/// The value that a reduction starts from.
pub(super) fn neutral(emitter: &Emitter, reducer: Reducer, element: ElementType) -> Result<Expression, LowerError> {
    let extreme = |float: f64, integer: i64| match (element.is_float(), element) {
        (true, _) => Literal::new(element, float),
        (false, ElementType::I64) => Literal::Integer(element, integer),
        (false, ElementType::I8) => Literal::Integer(element, integer >> 56),
        (false, ElementType::U8) => Literal::Integer(element, if integer < 0 { 0 } else { 255 }),
        (false, _) => Literal::Integer(element, integer >> 32),
    };
    let literal = match reducer {
        Reducer::Sum => Literal::new(element, 0.0),
        Reducer::Product => Literal::new(element, 1.0),
        Reducer::Maximum => extreme(f64::NEG_INFINITY, i64::MIN),
        Reducer::Minimum => extreme(f64::INFINITY, i64::MAX),
    };
    emit_literal(emitter, literal)
}

/// `left` and `right` combined.
pub(super) fn combine(reducer: Reducer, left: Expression, right: Expression) -> Expression {
    let op = match reducer {
        Reducer::Sum => BinaryOp::Add,
        Reducer::Product => BinaryOp::Multiply,
        Reducer::Maximum => BinaryOp::Maximum,
        Reducer::Minimum => BinaryOp::Minimum,
    };
    Expression::binary(op, left, right)
}

/// Adds the body's value at a point to an accumulator; `F32` products in a sum are fused with it, one after another.
pub(super) fn accumulate(
    emitter: &mut Emitter,
    point: &mut Point,
    reducer: Reducer,
    body: &Scalar,
    accumulator: LocalId,
    scalar: ScalarType,
) -> Result<(), LowerError> {
    let value = match (reducer, scalar, body) {
        (Reducer::Sum, ScalarType::F32, Scalar::Binary(expr::BinaryOp::Add, left, right))
            if is_product(left) && is_product(right) =>
        {
            accumulate(emitter, point, reducer, left, accumulator, scalar)?;
            return accumulate(emitter, point, reducer, right, accumulator, scalar);
        }
        (Reducer::Sum, ScalarType::F32, Scalar::Binary(expr::BinaryOp::Multiply, left, right)) => {
            let (left, right) = (point.emit(emitter, left)?, point.emit(emitter, right)?);
            Expression::FusedMultiplyAdd(Box::new(left), Box::new(right), Box::new(accumulator.into()))
        }
        _ => combine(reducer, accumulator.into(), point.emit(emitter, body)?),
    };
    emitter.assign(accumulator, value);
    Ok(())
}

/// Whether a scalar is a product or a sum of products.
fn is_product(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Binary(expr::BinaryOp::Multiply, ..) => true,
        Scalar::Binary(expr::BinaryOp::Add, left, right) => is_product(left) && is_product(right),
        _ => false,
    }
}
