//! `Greater`: x > y.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x > y, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Greater;

impl ElementWise for Greater {
    const NAME: &'static str = "Greater";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input).map(|_| ElementType::Bool)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, y] = operands(inputs);
        y.binary(BinaryOp::Less, x)
    }
}
