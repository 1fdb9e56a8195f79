//! `Acosh`: inverse of the hyperbolic cosine.

use std::ops::RangeInclusive;

use super::elementwise::{ElementWise, floating, operands};
use super::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::types::ElementType;

/// ln(x + √(x² − 1)), element-wise; NaN below 1.
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
        let square = x.clone().binary(BinaryOp::Multiply, x.clone());
        let root = square.binary(BinaryOp::Subtract, Scalar::literal(element, 1.0)).unary(UnaryOp::Sqrt);
        x.binary(BinaryOp::Add, root).unary(UnaryOp::Log)
    }
}
