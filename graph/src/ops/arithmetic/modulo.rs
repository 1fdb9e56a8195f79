//! `Mod`: what division leaves.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// What division leaves, element-wise, broadcast: with the sign of the divisor, or of the dividend if `truncated`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mod {
    truncated: bool,
}

impl ElementWise for Mod {
    const NAME: &'static str = "Mod";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { truncated: attributes.flag("fmod")?.unwrap_or(false) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("fmod", Attribute::Int(i64::from(self.truncated)))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, y] = operands(inputs);
        let zero = || Scalar::literal(element, 0.0);
        let rest = x.binary(BinaryOp::Remainder, y.clone());
        if self.truncated {
            return rest;
        }
        let negative = rest.clone().binary(BinaryOp::Less, zero());
        let opposite =
            negative.select(zero().binary(BinaryOp::Less, y.clone()), y.clone().binary(BinaryOp::Less, zero()));
        let exact = rest.clone().binary(BinaryOp::Equal, zero());
        let moved = opposite.select(rest.clone().binary(BinaryOp::Add, y), rest.clone());
        exact.select(rest, moved)
    }
}
