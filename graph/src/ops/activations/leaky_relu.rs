//! `LeakyRelu`: x, or αx below zero.

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x where it is positive, αx elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct LeakyRelu {
    alpha: f32,
}

impl ElementWise for LeakyRelu {
    const NAME: &'static str = "LeakyRelu";

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let alpha = attributes.float("alpha")?.unwrap_or(0.01);
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
        let scaled = x.clone().binary(BinaryOp::Multiply, literal(f64::from(self.alpha)));
        let negative = x.clone().binary(BinaryOp::LessEqual, literal(0.0));
        negative.select(scaled, x)
    }
}
