//! Sums of products of integers, as the quantised convolution and matrix product have them.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::quantization::quantized;
use crate::ops::{Context, InferError, broadcast, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// Scales of singles, of which there is one or one a place: the shape with which they broadcast.
pub fn scale(context: &Context, input: usize, (extent, placed): (usize, Shape)) -> Result<Shape, InferError> {
    let ty = context.tensor(input)?;
    let fits = ty.shape.checked_elements() == Some(1) || *ty.shape == [extent];
    if ty.element != ElementType::F32 || !fits {
        return Err(InferError::Mismatch(format!("a scale of {ty} is neither one single nor {extent}")));
    }
    Ok(if ty.shape.checked_elements() == Some(1) { Shape::scalar() } else { placed })
}

/// Checks that the zero point of the output is one integer; its type is the output's.
pub fn result_element(context: &Context, input: usize) -> Result<ElementType, InferError> {
    let zero: &TensorType = context.tensor(input)?;
    if zero.shape.checked_elements() != Some(1) {
        return Err(InferError::Mismatch(format!("a zero point of {zero} is not one")));
    }
    quantized(zero.element)
}

/// Appends sums of 32 bits as quantised values: scales and zero point as [`scale`] and [`result_element`] accept them. The
/// factor, left times right through the result's scale, is rounded before the sums are multiplied by it, as ONNX Runtime does.
pub fn requantize(
    program: &mut ProgramBuilder,
    sums: TensorId,
    [left, right, result]: [(TensorId, Shape); 3],
    zero: TensorId,
) -> TensorId {
    let element = program.ty(zero).element;
    let scales = [left, right, result].map(|(scale, shape)| Some(movement::reshape(program, scale, &shape)));
    let zero = movement::reshape(program, zero, &Shape::scalar());
    let factor = broadcast::map(&scales, program, ElementType::F32, |scales| {
        let [left, right, result]: [Scalar; 3] = elementwise::operands(scales);
        left.binary(BinaryOp::Multiply, right).binary(BinaryOp::Divide, result)
    });
    broadcast::map(&[Some(sums), Some(factor), Some(zero)], program, element, |operands| {
        let [sum, factor, zero]: [Scalar; 3] = elementwise::operands(operands);
        let scaled = sum.cast(ElementType::I32, ElementType::F32).binary(BinaryOp::Multiply, factor);
        let moved = scaled.unary(UnaryOp::RoundEven).binary(BinaryOp::Add, zero.cast(element, ElementType::F32));
        moved.cast(ElementType::F32, element)
    })
}
