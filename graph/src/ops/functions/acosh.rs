//! `Acosh`: inverse of the hyperbolic cosine.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::hyperbolic::logarithm_of_sum;
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// ln(x + √((x − 1)(x + 1))), element-wise; NaN below 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acosh;

impl ElementWise for Acosh {
    const NAME: &'static str = "Acosh";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        area_of_cosine(element, x)
    }
}

/// ln(x + √((x − 1)(x + 1))), whose hyperbolic cosine is x.
pub(crate) fn area_of_cosine(element: ElementType, x: Scalar) -> Scalar {
    let one = Scalar::literal(element, 1.0);
    let (below, above) = (x.clone().binary(BinaryOp::Subtract, one.clone()), x.clone().binary(BinaryOp::Add, one));
    // The size keeps the radicand negative below −1 too.
    logarithm_of_sum(element, x, below.binary(BinaryOp::Multiply, above.unary(UnaryOp::Absolute)))
}
