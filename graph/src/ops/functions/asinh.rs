//! `Asinh`: inverse of the hyperbolic sine.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::hyperbolic::{logarithm_of_sum, odd_series};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
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
        let (size, one) = (x.clone().unary(UnaryOp::Absolute), Scalar::literal(element, 1.0));
        let square = size.clone().binary(BinaryOp::Multiply, size.clone());
        let value = logarithm_of_sum(element, size, square.binary(BinaryOp::Add, one));
        let is_negative = x.clone().binary(BinaryOp::Less, Scalar::literal(element, 0.0));
        let far = is_negative.select(value.clone().unary(UnaryOp::Negate), value);
        let coefficients = [1.0, -1.0 / 6.0, 3.0 / 40.0, -15.0 / 336.0, 105.0 / 3456.0];
        odd_series(element, &x, &coefficients, 0.2, far)
    }
}
