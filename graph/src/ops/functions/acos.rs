//! `Acos`: the inverse cosine.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// The angle in 0 to π whose cosine is the element; NaN outside −1 to 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acos;

impl ElementWise for Acos {
    const NAME: &'static str = "Acos";
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
        angle_of_cosine(element, x)
    }
}

/// 2 atan(√((1 − x) / (1 + x))), the angle whose cosine is x.
pub(crate) fn angle_of_cosine(element: ElementType, x: Scalar) -> Scalar {
    // 2 atan(√((1 − x) / (1 + x))) keeps its digits near 1, where π/2 less the angle of the sine loses them.
    let one = || Scalar::literal(element, 1.0);
    let less = one().binary(BinaryOp::Subtract, x.clone());
    let tangent = less.binary(BinaryOp::Divide, one().binary(BinaryOp::Add, x)).unary(UnaryOp::Sqrt);
    tangent.unary(UnaryOp::Atan).binary(BinaryOp::Multiply, Scalar::literal(element, 2.0))
}
