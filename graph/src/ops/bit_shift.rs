//! `BitShift`: integers shifted by a number of bits.

use std::ops::RangeInclusive;

use super::elementwise::{ElementWise, operands};
use super::{Attribute, AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::expr::{BinaryOp, Scalar};
use crate::types::ElementType;

/// Unsigned integers shifted by as many bits as a second input says, element-wise; 0 where all bits are shifted out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitShift {
    direction: Direction,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Left,
    Right,
}

impl ElementWise for BitShift {
    const NAME: &'static str = "BitShift";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "direction";
        let direction = match attributes.string(name)?.as_deref() {
            Some("LEFT") => Direction::Left,
            Some("RIGHT") => Direction::Right,
            Some(other) => return Err(AttributeError::Value { name, reason: format!("`{other}` is unknown") }),
            None => return Err(AttributeError::Missing(name)),
        };
        Ok(Self { direction })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let name = if self.direction == Direction::Left { "LEFT" } else { "RIGHT" };
        vec![("direction", Attribute::String(name.to_owned()))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        match input {
            ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => Ok(input),
            other => Err(InferError::Mismatch(format!("element type {other} is not unsigned"))),
        }
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, amount] = operands(inputs);
        x.binary(if self.direction == Direction::Left { BinaryOp::ShiftLeft } else { BinaryOp::ShiftRight }, amount)
    }
}
