//! `BitShift`: integers shifted by a number of bits.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// Integers shifted by the number of bits in the second input, element-wise. A right shift of a signed integer extends its sign; a
/// left shift discards the bits that leave. If the number is negative or not less than the width, a right shift of a negative
/// integer gives -1 and any other shift gives 0.
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
            signed if unsigned(signed).is_some() => Ok(input),
            other => Err(InferError::Mismatch(format!("element type {other} has no bits to shift"))),
        }
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x, amount] = operands(inputs);
        match (unsigned(element), self.direction) {
            (None, Direction::Left) => x.binary(BinaryOp::ShiftLeft, amount),
            (None, Direction::Right) => x.binary(BinaryOp::ShiftRight, amount),
            (Some(bits), Direction::Left) => signed_left(element, bits, x, amount),
            (Some(_), Direction::Right) => signed_right(element, x, amount),
        }
    }
}

/// The unsigned type of a signed type's width; `None` for other types.
fn unsigned(element: ElementType) -> Option<ElementType> {
    match element {
        ElementType::I8 => Some(ElementType::U8),
        ElementType::I16 => Some(ElementType::U16),
        ElementType::I32 => Some(ElementType::U32),
        ElementType::I64 => Some(ElementType::U64),
        _ => None,
    }
}

fn signed_left(element: ElementType, bits: ElementType, x: Scalar, amount: Scalar) -> Scalar {
    let zero = || Scalar::literal(element, 0.0);
    let shifted = x.cast(element, bits).binary(BinaryOp::ShiftLeft, amount.clone().cast(element, bits));
    amount.binary(BinaryOp::Less, zero()).select(zero(), shifted.cast(bits, element))
}

/// Shifts `x` if it is not negative, else the complement of its complement shifted.
fn signed_right(element: ElementType, x: Scalar, amount: Scalar) -> Scalar {
    let (zero, ones) = (|| Scalar::literal(element, 0.0), || Scalar::literal(element, -1.0));
    let complement = |of: Scalar| of.binary(BinaryOp::BitXor, ones());
    let is_negative = x.clone().binary(BinaryOp::Less, zero());
    let size = is_negative.clone().select(complement(x.clone()), x);
    let possible = amount.clone().binary(BinaryOp::Maximum, zero());
    let shifted = size.binary(BinaryOp::ShiftRight, possible);
    let shifted = amount.binary(BinaryOp::Less, zero()).select(zero(), shifted);
    is_negative.select(complement(shifted.clone()), shifted)
}
