//! `Sum`: the sum of the inputs.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, fold, number};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// The sum of any number of inputs, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum;

impl ElementWise for Sum {
    const NAME: &'static str = "Sum";
    const INPUTS: RangeInclusive<usize> = 1..=usize::MAX;
    const FOLDS: Option<BinaryOp> = Some(BinaryOp::Add);

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        fold(BinaryOp::Add, inputs)
    }
}
