//! Functions of one element that are fused behind products and convolutions.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::sigmoid;
use crate::ops::{Attribute, AttributeError, broadcast};
use crate::program::{ProgramBuilder, TensorId};

/// A function of one element, with its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Activation {
    /// None: the element itself.
    None,
    /// max(x, 0).
    Relu,
    /// x, or so much of it below 0.
    LeakyRelu(f32),
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// x between two bounds.
    Clip(f32, f32),
    /// max(0, min(1, alpha · x + beta)).
    HardSigmoid(f32, f32),
}

impl Activation {
    /// The function of this name with these parameters in order.
    pub(super) fn named(name: Option<&str>, parameters: &[f32]) -> Result<Self, AttributeError> {
        let at = |position: usize, default: f32| parameters.get(position).copied().unwrap_or(default);
        Ok(match name {
            None | Some("") => Self::None,
            Some("Relu") => Self::Relu,
            Some("LeakyRelu") => Self::LeakyRelu(at(0, 0.01)),
            Some("Sigmoid") => Self::Sigmoid,
            Some("Tanh") => Self::Tanh,
            Some("Clip") => Self::Clip(at(0, f32::MIN), at(1, f32::MAX)),
            Some("HardSigmoid") => Self::HardSigmoid(at(0, 0.2), at(1, 0.5)),
            Some(other) => {
                return Err(AttributeError::Value {
                    name: "activation",
                    reason: format!("`{other}` is not supported"),
                });
            }
        })
    }

    /// The name and the parameters in order.
    pub(super) fn attributes(self) -> Option<(Attribute, Vec<f32>)> {
        let (name, parameters) = match self {
            Self::None => return None,
            Self::Relu => ("Relu", vec![]),
            Self::LeakyRelu(alpha) => ("LeakyRelu", vec![alpha]),
            Self::Sigmoid => ("Sigmoid", vec![]),
            Self::Tanh => ("Tanh", vec![]),
            Self::Clip(least, most) => ("Clip", vec![least, most]),
            Self::HardSigmoid(alpha, beta) => ("HardSigmoid", vec![alpha, beta]),
        };
        Some((Attribute::String(name.to_owned()), parameters))
    }

    /// Appends the function of every element.
    pub(super) fn lower(self, program: &mut ProgramBuilder, tensor: TensorId) -> TensorId {
        let element = program.ty(tensor).element;
        let literal = |value: f32| Scalar::literal(element, f64::from(value));
        let between = |x: Scalar, least: f32, most: f32| {
            x.binary(BinaryOp::Maximum, literal(least)).binary(BinaryOp::Minimum, literal(most))
        };
        let body = |x: Scalar| match self {
            Self::None => x,
            Self::Relu => x.binary(BinaryOp::Maximum, literal(0.0)),
            Self::LeakyRelu(alpha) => {
                let below = x.clone().binary(BinaryOp::Less, literal(0.0));
                below.select(x.clone().binary(BinaryOp::Multiply, literal(alpha)), x)
            }
            Self::Sigmoid => sigmoid(element, x),
            Self::Tanh => x.unary(UnaryOp::Tanh),
            Self::Clip(least, most) => between(x, least, most),
            Self::HardSigmoid(alpha, beta) => {
                let line = x.binary(BinaryOp::Multiply, literal(alpha)).binary(BinaryOp::Add, literal(beta));
                between(line, 0.0, 1.0)
            }
        };
        match self {
            Self::None => tensor,
            _ => broadcast::map(&[Some(tensor)], program, element, |mut operands| body(operands.remove(0))),
        }
    }
}
