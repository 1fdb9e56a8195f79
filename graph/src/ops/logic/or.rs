//! `Or`: logical or.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, operands, truth};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// Either holds, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Or;

impl ElementWise for Or {
    const NAME: &'static str = "Or";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        truth(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, y] = operands(inputs);
        x.binary(BinaryOp::Or, y)
    }
}
