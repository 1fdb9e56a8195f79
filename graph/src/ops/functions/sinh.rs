//! `Sinh`: hyperbolic sine.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::hyperbolic::{half_exponential, odd_series};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// (eˣ − e⁻ˣ) / 2, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sinh;

impl ElementWise for Sinh {
    const NAME: &'static str = "Sinh";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let [up, down] = [x.clone(), x.clone().unary(UnaryOp::Negate)].map(|power| half_exponential(element, power));
        let coefficients = [1.0, 1.0 / 6.0, 1.0 / 120.0, 1.0 / 5040.0];
        odd_series(element, &x, &coefficients, 0.5, up.binary(BinaryOp::Subtract, down))
    }
}
