//! `BitwiseAnd`: the bits that both of two integers have.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, fold, integer};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// The bits that both of two integers have, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitwiseAnd;

impl ElementWise for BitwiseAnd {
    const NAME: &'static str = "BitwiseAnd";
    const OPSETS: RangeInclusive<i64> = 18..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        integer(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        fold(BinaryOp::BitAnd, inputs)
    }
}
