//! `Softplus`: ln(1 + eˣ).

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, log_one_plus, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// ln(1 + eˣ), element-wise, without overflow: max(x, 0) + ln(1 + e^−|x|).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Softplus;

impl ElementWise for Softplus {
    const NAME: &'static str = "Softplus";

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
        x.binary(BinaryOp::Maximum, literal(0.0)).binary(BinaryOp::Add, tail)
    }
}
