//! `Gelu`: the Gaussian error linear unit.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x · Φ(x), exactly or by the hyperbolic tangent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gelu {
    /// ½ x (1 + erf(x / √2)).
    Exact,
    /// ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).
    Tanh,
}

impl ElementWise for Gelu {
    const NAME: &'static str = "Gelu";
    const OPSETS: RangeInclusive<i64> = 20..=crate::ops::NEWEST_OPSET;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        match attributes.string("approximate")?.as_deref() {
            None | Some("none") => Ok(Self::Exact),
            Some("tanh") => Ok(Self::Tanh),
            Some(other) => Err(AttributeError::Value { name: "approximate", reason: format!("`{other}` is unknown") }),
        }
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let approximate = match self {
            Self::Exact => "none",
            Self::Tanh => "tanh",
        };
        vec![("approximate", Attribute::String(approximate.to_owned()))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let literal = |value| Scalar::literal(element, value);
        let inner = match self {
            Self::Exact => {
                x.clone().binary(BinaryOp::Multiply, literal(std::f64::consts::FRAC_1_SQRT_2)).unary(UnaryOp::Erf)
            }
            Self::Tanh => {
                let square = x.clone().binary(BinaryOp::Multiply, x.clone());
                let cubic = square.binary(BinaryOp::Multiply, literal(0.044715)).binary(BinaryOp::Add, literal(1.0));
                let scale = (2.0 / std::f64::consts::PI).sqrt();
                let scaled = x.clone().binary(BinaryOp::Multiply, literal(scale));
                scaled.binary(BinaryOp::Multiply, cubic).unary(UnaryOp::Tanh)
            }
        };
        let half = x.binary(BinaryOp::Multiply, literal(0.5));
        half.binary(BinaryOp::Multiply, literal(1.0).binary(BinaryOp::Add, inner))
    }
}
