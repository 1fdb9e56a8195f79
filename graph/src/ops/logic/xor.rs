//! `Xor`: logical exclusive or.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, operands, truth};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// Exactly one holds, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Xor;

impl ElementWise for Xor {
    const NAME: &'static str = "Xor";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        truth(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, y] = operands(inputs);
        x.binary(BinaryOp::Equal, y).unary(UnaryOp::Not)
    }
}
