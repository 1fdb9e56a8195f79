//! `SwiGLU`: a value times the Swish of its gate.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::swish::swish;
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// x · σ(α x) · y of two tensors, element-wise.
#[derive(Clone, PartialEq, Debug)]
pub struct SwiGlu {
    alpha: f32,
}

impl ElementWise for SwiGlu {
    const NAME: &'static str = "SwiGLU";
    const OPSETS: RangeInclusive<i64> = 28..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

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
        let [gate, value] = operands(inputs);
        swish(element, gate, self.alpha).binary(BinaryOp::Multiply, value)
    }
}
