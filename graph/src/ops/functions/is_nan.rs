//! `IsNaN`: whether an element is no number.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands, widened};
use crate::ops::{AttributeError, AttributeReader, FLOAT8, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// Whether the element is not a number, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsNaN;

impl ElementWise for IsNaN {
    const NAME: &'static str = "IsNaN";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const STORAGE: &'static [ElementType] = FLOAT8;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(widened(input)).map(|_| ElementType::Bool)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs).map(|x: Scalar| x.cast(element, widened(element)));
        x.clone().binary(BinaryOp::Equal, x).unary(UnaryOp::Not)
    }
}
