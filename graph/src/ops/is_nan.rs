//! `IsNaN`: whether an element is no number.

use std::ops::RangeInclusive;

use super::elementwise::{ElementWise, floating, operands};
use super::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::types::ElementType;

/// Whether the element is not a number, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsNaN;

impl ElementWise for IsNaN {
    const NAME: &'static str = "IsNaN";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input).map(|_| ElementType::Bool)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.clone().binary(BinaryOp::Equal, x).unary(UnaryOp::Not)
    }
}
