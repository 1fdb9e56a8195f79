//! `PRelu`: x, or a slope times x below zero.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x where it is positive, slope · x elsewhere; the slope broadcasts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PRelu;

impl ElementWise for PRelu {
    const NAME: &'static str = "PRelu";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, slope] = operands(inputs);
        let negative = x.clone().binary(BinaryOp::LessEqual, Scalar::literal(element, 0.0));
        negative.select(x.clone().binary(BinaryOp::Multiply, slope), x)
    }
}
