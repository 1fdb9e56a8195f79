//! `Atanh`: inverse of the hyperbolic tangent.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::hyperbolic::odd_series;
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// ln((1 + x) / (1 − x)) / 2, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atanh;

impl ElementWise for Atanh {
    const NAME: &'static str = "Atanh";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        area_of_tangent(element, x)
    }
}

/// ln((1 + x) / (1 − x)) / 2, whose hyperbolic tangent is x.
pub(crate) fn area_of_tangent(element: ElementType, x: Scalar) -> Scalar {
    let one = Scalar::literal(element, 1.0);
    let (up, down) = (one.clone().binary(BinaryOp::Add, x.clone()), one.binary(BinaryOp::Subtract, x.clone()));
    let ratio = up.binary(BinaryOp::Divide, down).unary(UnaryOp::Log);
    let far = ratio.binary(BinaryOp::Multiply, Scalar::literal(element, 0.5));
    let coefficients = [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0];
    odd_series(element, &x, &coefficients, 0.2, far)
}
