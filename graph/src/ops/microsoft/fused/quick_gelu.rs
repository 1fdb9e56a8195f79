//! `com.microsoft.QuickGelu`: an approximation of the Gaussian error linear unit.

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands, sigmoid};
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x · sigmoid(alpha · x), element-wise.
#[derive(Clone, PartialEq, Debug)]
pub struct QuickGelu {
    alpha: f32,
}

impl ElementWise for QuickGelu {
    const NAME: &'static str = "QuickGelu";
    const DOMAIN: &'static str = DOMAIN;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { alpha: attributes.float("alpha")?.unwrap_or(1.702) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("alpha", Attribute::Float(self.alpha))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let scaled = x.clone().binary(BinaryOp::Multiply, Scalar::literal(element, f64::from(self.alpha)));
        x.binary(BinaryOp::Multiply, sigmoid(element, scaled))
    }
}
