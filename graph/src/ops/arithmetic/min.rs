//! `Min`: the smallest of the inputs.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, fold, number};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// The smallest of any number of inputs, element-wise, broadcast; NaN if one is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Min;

impl ElementWise for Min {
    const NAME: &'static str = "Min";
    const INPUTS: RangeInclusive<usize> = 1..=usize::MAX;
    const FOLDS: Option<BinaryOp> = Some(BinaryOp::Minimum);

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        fold(BinaryOp::Minimum, inputs)
    }
}
