//! `ThresholdedRelu`: x above a threshold, else 0.

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x where it is above the threshold α, 0 elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct ThresholdedRelu {
    alpha: f32,
}

impl ElementWise for ThresholdedRelu {
    const NAME: &'static str = "ThresholdedRelu";

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
        let above = literal(f64::from(self.alpha)).binary(BinaryOp::Less, x.clone());
        above.select(x, literal(0.0))
    }
}
