//! Mean and variance along dimensions, shared by the normalisations.

use crate::expr::{BinaryOp, ExprBuilder, Reducer, Scalar, UnaryOp};
use crate::ops::reduction;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape};

/// Mean and variance of a tensor along some dimensions, which keep an extent of 1.
pub struct Moments {
    pub mean: TensorId,
    /// The mean square of the distance from the mean.
    pub variance: TensorId,
    /// The type in which they are computed.
    pub element: ElementType,
}

/// The type in which moments of `element` are computed: at least single precision.
pub fn precision(element: ElementType) -> ElementType {
    if element == ElementType::F64 { element } else { ElementType::F32 }
}

/// Appends mean and variance of `input` along `dimensions`.
pub fn moments(program: &mut ProgramBuilder, input: TensorId, dimensions: &[usize]) -> Moments {
    let ty = program.ty(input).clone();
    let element = precision(ty.element);
    let wide = |scalar: Scalar| scalar.cast(ty.element, element);
    let extent = |(at, &extent): (usize, &usize)| if dimensions.contains(&at) { 1 } else { extent };
    let shape: Shape = ty.shape.iter().enumerate().map(extent).collect();
    let average = |count: usize| Some(Scalar::Reduced.binary(BinaryOp::Divide, Scalar::literal(element, count as f64)));
    let mut expr = ExprBuilder::new();
    let (read, count) = reduction::read_along(&mut expr, &ty, dimensions, &shape);
    let expr = expr.reduce(element, Reducer::Sum, wide(read), average(count));
    let mean = program.compute(expr, &[input]);

    let mut expr = ExprBuilder::new();
    let (read, count) = reduction::read_along(&mut expr, &ty, dimensions, &shape);
    let centre = expr.operand(program.ty(mean));
    let centre = expr.broadcast_read(centre, &expr.parallel_axes());
    let distance = wide(read).binary(BinaryOp::Subtract, centre);
    let square = distance.clone().binary(BinaryOp::Multiply, distance);
    let expr = expr.reduce(element, Reducer::Sum, square, average(count));
    let variance = program.compute(expr, &[input, mean]);
    Moments { mean, variance, element }
}

/// `(x − mean) / √(variance + epsilon)`.
pub fn normalised(x: Scalar, mean: Scalar, variance: Scalar, element: ElementType, epsilon: f32) -> Scalar {
    let shifted = variance.binary(BinaryOp::Add, Scalar::literal(element, f64::from(epsilon)));
    x.binary(BinaryOp::Subtract, mean).binary(BinaryOp::Divide, shifted.unary(UnaryOp::Sqrt))
}
