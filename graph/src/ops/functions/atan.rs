//! `Atan`: the inverse tangent.

use std::ops::RangeInclusive;

use crate::expr::{Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// The angle in −π/2 to π/2 whose tangent is the element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atan;

impl ElementWise for Atan {
    const NAME: &'static str = "Atan";
    const OPSETS: RangeInclusive<i64> = 7..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Atan)
    }
}
