//! What the operators of quantisation have in common: scales and zero points beside what they belong to.

use super::{Context, InferError, axes, broadcast, movement};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// The same type, if it is one that values are quantised to.
pub fn quantized(element: ElementType) -> Result<ElementType, InferError> {
    match element {
        ElementType::I8 | ElementType::U8 | ElementType::I16 | ElementType::U16 => Ok(element),
        ElementType::Bool
        | ElementType::I32
        | ElementType::I64
        | ElementType::U32
        | ElementType::U64
        | ElementType::F16
        | ElementType::BF16
        | ElementType::F32
        | ElementType::F64 => Err(InferError::Mismatch(format!("element type {element} is not a quantised one"))),
    }
}

/// The shape with which a scale or zero point broadcasts to data: one for all, or one a place of an axis.
pub fn placed(ty: &TensorType, data: &Shape, axis: i64) -> Result<Shape, InferError> {
    if ty.shape.checked_elements() == Some(1) && ty.shape.len() <= 1 {
        return Ok(Shape::scalar());
    }
    if ty.shape.len() != 1 {
        return Err(InferError::Unsupported(format!("{ty} is a scale or zero point of blocks")));
    }
    let dimension = axes::dimension(axis, data.len())?;
    if data[dimension] != ty.shape[0] {
        return Err(InferError::Mismatch(format!("{ty} does not go along axis {axis} of [{data}]")));
    }
    Ok(data.iter().enumerate().map(|(at, &extent)| if at == dimension { extent } else { 1 }).collect())
}

/// An input of this number, which inference has accepted, in the shape with which it broadcasts; none if it is left out.
pub fn parameter(
    context: &Context,
    inputs: &[Option<TensorId>],
    program: &mut ProgramBuilder,
    (input, axis): (usize, i64),
) -> Option<TensorId> {
    let tensor = inputs.get(input).copied().flatten()?;
    let shape =
        placed(context.accepted(input), &context.accepted(0).shape, axis).expect("inference accepted the input");
    Some(movement::reshape(program, tensor, &shape))
}

/// An integer less its zero point, in 32 bits.
pub fn centered(element: ElementType, value: Scalar, zero: Option<Scalar>) -> Scalar {
    let wide = |scalar: Scalar| scalar.cast(element, ElementType::I32);
    match zero {
        Some(zero) => wide(value).binary(BinaryOp::Subtract, wide(zero)),
        None => wide(value),
    }
}

/// A factor less its zero point, in 32 bits; the zero point stands beside the shape with which it broadcasts.
pub fn centered_factor(program: &mut ProgramBuilder, factor: TensorId, zero: Option<(TensorId, Shape)>) -> TensorId {
    let element = program.ty(factor).element;
    let zero = zero.map(|(zero, shape)| movement::reshape(program, zero, &shape));
    let operands: Vec<Option<TensorId>> = [Some(factor)].into_iter().chain(zero.map(Some)).collect();
    broadcast::map(&operands, program, ElementType::I32, |operands| {
        let mut operands = operands.into_iter();
        let value = operands.next().expect("the factor is an operand");
        centered(element, value, operands.next())
    })
}

/// A number divided by its scale, rounded to even, moved by the zero point and brought between the bounds of `to`.
pub fn rounded(element: ElementType, to: ElementType, value: Scalar, scale: Scalar, zero: Option<Scalar>) -> Scalar {
    let steps = value.binary(BinaryOp::Divide, scale).unary(UnaryOp::RoundEven);
    let moved = match zero {
        Some(zero) => steps.binary(BinaryOp::Add, zero.cast(to, element)),
        None => steps,
    };
    moved.cast(element, to)
}
