//! `Equal`: x = y.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x = y, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Equal;

impl ElementWise for Equal {
    const NAME: &'static str = "Equal";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, _: ElementType) -> Result<ElementType, InferError> {
        Ok(ElementType::Bool)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, y] = operands(inputs);
        x.binary(BinaryOp::Equal, y)
    }
}
