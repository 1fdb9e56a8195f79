//! `Swish`: an element times its sigmoid.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands, sigmoid};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// x · σ(α x), element-wise.
#[derive(Clone, PartialEq, Debug)]
pub struct Swish {
    alpha: f32,
}

impl ElementWise for Swish {
    const NAME: &'static str = "Swish";
    const OPSETS: RangeInclusive<i64> = 24..=NEWEST_OPSET;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { alpha: attributes.float("alpha")?.unwrap_or(1.0) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("alpha", Attribute::Float(self.alpha))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        swish(element, x, self.alpha)
    }
}

/// x · σ(α x).
pub(in crate::ops) fn swish(element: ElementType, x: Scalar, alpha: f32) -> Scalar {
    let scaled = x.clone().binary(BinaryOp::Multiply, Scalar::literal(element, f64::from(alpha)));
    x.binary(BinaryOp::Multiply, sigmoid(element, scaled))
}
