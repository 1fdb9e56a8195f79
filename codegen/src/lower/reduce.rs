//! Reducers: their neutral elements and how they combine.

use warpweave_graph::ElementType;
use warpweave_graph::expr::{self, Reducer, Scalar};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::lower::arithmetic::emit_literal;
use crate::lower::convert::wrapped;
use crate::lower::emitter::Emitter;
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;

/// The value that a reduction starts from.
pub(crate) fn neutral(emitter: &Emitter, reducer: Reducer, element: ElementType) -> Result<Expression, LowerError> {
    emit_literal(emitter, reducer.identity(element))
}

/// `left` and `right` combined.
pub(crate) fn combine(reducer: Reducer, left: Expression, right: Expression) -> Expression {
    let op = match reducer {
        Reducer::Sum => BinaryOp::Add,
        Reducer::Product => BinaryOp::Multiply,
        Reducer::Maximum => BinaryOp::Maximum,
        Reducer::Minimum => BinaryOp::Minimum,
    };
    Expression::binary(op, left, right)
}

/// The value of a finished reduction: narrow integers wrap once, after all sums and products.
pub(crate) fn reduced_value(
    emitter: &mut Emitter,
    reducer: Reducer,
    element: ElementType,
    accumulator: LocalId,
) -> Expression {
    match reducer {
        Reducer::Sum | Reducer::Product => match wrapped(element, accumulator.into()) {
            value @ Expression::Local(_) => value,
            value => emitter.bind(ScalarType::I32, value).into(),
        },
        Reducer::Maximum | Reducer::Minimum => accumulator.into(),
    }
}

/// Adds the body's value at a point to an accumulator; `F32` products in a sum are fused with it, one after another.
pub(crate) fn accumulate(
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
