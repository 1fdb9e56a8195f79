//! `Sign`: −1, 0 or 1.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// −1, 0 or 1 as the element is negative, zero or positive; NaN of NaN.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sign;

impl ElementWise for Sign {
    const NAME: &'static str = "Sign";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let literal = |value| Scalar::literal(element, value);
        let positive = literal(0.0).binary(BinaryOp::Less, x.clone());
        let negative = x.clone().binary(BinaryOp::Less, literal(0.0));
        // No zero is negative any longer, NaN stays, and what is rounded has no gradient.
        let other =
            if element.is_float() { x.unary(UnaryOp::RoundEven).binary(BinaryOp::Add, literal(0.0)) } else { x };
        positive.select(literal(1.0), negative.select(literal(-1.0), other))
    }
}
