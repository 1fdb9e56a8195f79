//! `Cosh`: hyperbolic cosine.

use std::ops::RangeInclusive;

use super::elementwise::{ElementWise, floating, operands};
use super::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::types::ElementType;

/// (eˣ + e⁻ˣ) / 2, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cosh;

impl ElementWise for Cosh {
    const NAME: &'static str = "Cosh";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let (up, down) = (x.clone().unary(UnaryOp::Exp), x.unary(UnaryOp::Negate).unary(UnaryOp::Exp));
        up.binary(BinaryOp::Add, down).binary(BinaryOp::Multiply, Scalar::literal(element, 0.5))
    }
}
