//! `BitwiseNot`: the bits that an integer does not have.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Literal, Scalar};
use crate::ops::elementwise::{ElementWise, integer, operands};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// The bits that an integer does not have, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitwiseNot;

impl ElementWise for BitwiseNot {
    const NAME: &'static str = "BitwiseNot";
    const OPSETS: RangeInclusive<i64> = 18..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        integer(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.binary(BinaryOp::BitXor, Scalar::Literal(Literal::integer(element, -1)))
    }
}
