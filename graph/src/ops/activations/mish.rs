//! `Mish`: x · tanh(softplus(x)).

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, log_one_plus, operands};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// x · tanh(ln(1 + eˣ)), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mish;

impl ElementWise for Mish {
    const NAME: &'static str = "Mish";
    const OPSETS: RangeInclusive<i64> = 18..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let literal = |value| Scalar::literal(element, value);
        let exp = x.clone().unary(UnaryOp::Absolute).unary(UnaryOp::Negate).unary(UnaryOp::Exp);
        let tail = log_one_plus(element, exp);
        let softplus = x.clone().binary(BinaryOp::Maximum, literal(0.0)).binary(BinaryOp::Add, tail);
        x.binary(BinaryOp::Multiply, softplus.unary(UnaryOp::Tanh))
    }
}
