//! Sums of products of integers, as the quantised convolution and matrix product have them.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::quantization::quantized;
use crate::ops::{Context, InferError, broadcast, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// Scales, of which there is one or one a place: the shape with which they broadcast.
pub fn scale(context: &Context, input: usize, (extent, placed): (usize, Shape)) -> Result<Shape, InferError> {
    let ty = context.tensor(input)?;
    let fits = ty.shape.checked_elements() == Some(1) || *ty.shape == [extent];
    if !ty.element.is_float() || !fits {
        return Err(InferError::Mismatch(format!("a scale of {ty} is neither one number nor {extent}")));
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
    (element, zero): (ElementType, Option<TensorId>),
) -> TensorId {
    let scales = [left, right, result].map(|(scale, shape)| {
        let element = program.ty(scale).element;
        let placed = movement::reshape(program, scale, &shape);
        let single = |mut scale: Vec<Scalar>| scale.remove(0).cast(element, ElementType::F32);
        Some(broadcast::map(&[Some(placed)], program, ElementType::F32, single))
    });
    let zero = zero.map(|zero| movement::reshape(program, zero, &Shape::scalar()));
    let factor = broadcast::map(&scales, program, ElementType::F32, |scales| {
        let [left, right, result]: [Scalar; 3] = elementwise::operands(scales);
        left.binary(BinaryOp::Multiply, right).binary(BinaryOp::Divide, result)
    });
    let operands: Vec<Option<TensorId>> = [Some(sums), Some(factor)].into_iter().chain(zero.map(Some)).collect();
    broadcast::map(&operands, program, element, |operands| {
        let mut operands = operands.into_iter();
        let mut next = || operands.next();
        let (sum, factor) = next().zip(next()).expect("sums and factor are operands");
        let scaled = sum.cast(ElementType::I32, ElementType::F32).binary(BinaryOp::Multiply, factor);
        let steps = scaled.unary(UnaryOp::RoundEven);
        let add = |steps: Scalar, zero: Scalar| steps.binary(BinaryOp::Add, zero.cast(element, ElementType::F32));
        next().into_iter().fold(steps, add).cast(ElementType::F32, element)
    })
}
