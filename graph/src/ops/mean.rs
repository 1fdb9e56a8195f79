//! `Mean`: the mean of the inputs.

use std::ops::RangeInclusive;

use super::elementwise::{ElementWise, MOST_OPERANDS, floating, fold};
use super::{AttributeError, AttributeReader, InferError};
use crate::expr::{BinaryOp, Scalar};
use crate::types::ElementType;

/// The mean of any number of inputs, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mean;

impl ElementWise for Mean {
    const NAME: &'static str = "Mean";
    const INPUTS: RangeInclusive<usize> = 1..=MOST_OPERANDS;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let count = Scalar::literal(element, inputs.len() as f64);
        fold(BinaryOp::Add, inputs).binary(BinaryOp::Divide, count)
    }
}
