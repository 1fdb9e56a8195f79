//! `Asin`: the inverse sine.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// The angle in −π/2 to π/2 whose sine is the element; NaN outside −1 to 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asin;

impl ElementWise for Asin {
    const NAME: &'static str = "Asin";
    const OPSETS: RangeInclusive<i64> = 7..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        angle_of_sine(element, x)
    }
}

/// atan(x / √((1 − x) (1 + x))): the sine over the cosine.
pub(crate) fn angle_of_sine(element: ElementType, x: Scalar) -> Scalar {
    let one = || Scalar::literal(element, 1.0);
    let (less, more) = (one().binary(BinaryOp::Subtract, x.clone()), one().binary(BinaryOp::Add, x.clone()));
    let cosine = less.binary(BinaryOp::Multiply, more).unary(UnaryOp::Sqrt);
    x.binary(BinaryOp::Divide, cosine).unary(UnaryOp::Atan)
}
