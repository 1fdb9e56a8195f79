//! `Asinh`: inverse of the hyperbolic sine.

use std::ops::RangeInclusive;

use super::elementwise::{ElementWise, floating, operands};
use super::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::types::ElementType;

/// sign(x) · ln(|x| + √(x² + 1)), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asinh;

impl ElementWise for Asinh {
    const NAME: &'static str = "Asinh";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let size = x.clone().unary(UnaryOp::Absolute);
        let square = size.clone().binary(BinaryOp::Multiply, size.clone());
        let root = square.binary(BinaryOp::Add, Scalar::literal(element, 1.0)).unary(UnaryOp::Sqrt);
        let value = size.binary(BinaryOp::Add, root).unary(UnaryOp::Log);
        let negative = x.binary(BinaryOp::Less, Scalar::literal(element, 0.0));
        negative.select(value.clone().unary(UnaryOp::Negate), value)
    }
}
