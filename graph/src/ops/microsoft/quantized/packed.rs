//! Elements of few bits in the bytes that hold them.

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::types::ElementType;

/// The element at a place, of two of 4 bits in a byte, as a 32-bit integer: the earlier one is in the lower bits. The byte is a
/// 32-bit integer.
pub(super) fn half_of_byte(byte: Scalar, place: &Index, expr: &ExprBuilder) -> Scalar {
    let literal = |value: f64| Scalar::literal(ElementType::I32, value);
    let half = Scalar::Index(place.modulo(2, &|axis| expr.range(axis)), ElementType::I32);
    let high = byte.clone().binary(BinaryOp::Divide, literal(16.0));
    let low = byte.binary(BinaryOp::Subtract, high.clone().binary(BinaryOp::Multiply, literal(16.0)));
    half.binary(BinaryOp::Equal, literal(0.0)).select(low, high)
}
