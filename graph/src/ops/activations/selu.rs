//! `Selu`: the scaled exponential linear unit.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// γx where it is positive, γα(eˣ − 1) elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Selu {
    alpha: f32,
    gamma: f32,
}

impl ElementWise for Selu {
    const NAME: &'static str = "Selu";

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let (alpha, gamma) = if attributes.opset() < 6 { (1.6732, 1.0507) } else { (1.673_263_2, 1.050_701) };
        let alpha = attributes.float("alpha")?.unwrap_or(alpha);
        let gamma = attributes.float("gamma")?.unwrap_or(gamma);
        Ok(Self { alpha, gamma })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("alpha", Attribute::Float(self.alpha)), ("gamma", Attribute::Float(self.gamma))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let literal = |value| Scalar::literal(element, value);
        let exp = x.clone().unary(UnaryOp::Exp).binary(BinaryOp::Subtract, literal(1.0));
        let scaled = exp.binary(BinaryOp::Multiply, literal(f64::from(self.alpha)));
        let negative = x.clone().binary(BinaryOp::LessEqual, literal(0.0));
        negative.select(scaled, x).binary(BinaryOp::Multiply, literal(f64::from(self.gamma)))
    }
}
