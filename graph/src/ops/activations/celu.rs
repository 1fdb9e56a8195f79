//! `Celu`: the continuous exponential linear unit.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// max(0, x) + min(0, α(e^(x / α) − 1)), element-wise.
#[derive(Clone, PartialEq, Debug)]
pub struct Celu {
    alpha: f32,
}

impl ElementWise for Celu {
    const NAME: &'static str = "Celu";

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let alpha = attributes.float("alpha")?.unwrap_or(1.0);
        Ok(Self { alpha })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("alpha", Attribute::Float(self.alpha))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let literal = |value| Scalar::literal(element, value);
        let alpha = literal(f64::from(self.alpha));
        let exp = x.clone().binary(BinaryOp::Divide, alpha.clone()).unary(UnaryOp::Exp);
        let below = exp.binary(BinaryOp::Subtract, literal(1.0)).binary(BinaryOp::Multiply, alpha);
        let above = x.binary(BinaryOp::Maximum, literal(0.0));
        above.binary(BinaryOp::Add, below.binary(BinaryOp::Minimum, literal(0.0)))
    }
}
