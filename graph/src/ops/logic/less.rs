//! `Less`: x < y.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x < y, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Less;

impl ElementWise for Less {
    const NAME: &'static str = "Less";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input).map(|_| ElementType::Bool)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, y] = operands(inputs);
        x.binary(BinaryOp::Less, y)
    }
}
