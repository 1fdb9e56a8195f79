//! `Tan`: tangent.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// sin x / cos x, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tan;

impl ElementWise for Tan {
    const NAME: &'static str = "Tan";
    const OPSETS: RangeInclusive<i64> = 7..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.clone().unary(UnaryOp::Sin).binary(BinaryOp::Divide, x.unary(UnaryOp::Cos))
    }
}
