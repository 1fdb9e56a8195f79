//! Gradients scaled down so that together they have a norm, as `torch.nn.utils.clip_grad_norm_` does.

use super::loss::total;
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::compose;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ElementType;

/// Added to the norm by which gradients are divided.
const EPSILON: f64 = 1e-6;

/// The gradients times `min(1, largest / (norm + ε))`, where the norm is that of all elements together.
pub(super) fn clipped(program: &mut ProgramBuilder, gradients: &[TensorId], largest: f64) -> Vec<TensorId> {
    let squares: Vec<TensorId> = gradients
        .iter()
        .map(|&gradient| {
            let element = program.ty(gradient).element;
            let squares = compose::map(program, [gradient], element, |[x]| x.clone().binary(BinaryOp::Multiply, x));
            let sum = total(program, squares);
            compose::cast(program, sum, ElementType::F32)
        })
        .collect();
    let sum = squares.into_iter().reduce(|all, next| {
        compose::map(program, [all, next], ElementType::F32, |[all, next]| all.binary(BinaryOp::Add, next))
    });
    let Some(sum) = sum else { return Vec::new() };
    let literal = |value: f64| Scalar::literal(ElementType::F32, value);
    let factor = compose::map(program, [sum], ElementType::F32, |[sum]| {
        let norm = sum.unary(UnaryOp::Sqrt).binary(BinaryOp::Add, literal(EPSILON));
        literal(largest).binary(BinaryOp::Divide, norm).binary(BinaryOp::Minimum, literal(1.0))
    });
    let scale = |&gradient: &TensorId| {
        let element = program.ty(gradient).element;
        compose::map(program, [gradient, factor], element, |[x, factor]| {
            x.binary(BinaryOp::Multiply, factor.cast(ElementType::F32, element))
        })
    };
    gradients.iter().map(scale).collect()
}
