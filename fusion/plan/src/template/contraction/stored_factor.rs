//! Factors of integer products as they are stored: integers of fewer bits, of which a zero point is subtracted.

use warpweave_graph::expr::{BinaryOp, ReadId, Scalar, TensorExpr};
use warpweave_graph::types::ElementType;

use super::tile_load::plain_read;

/// A factor without its zero point, and that.
pub fn zero_point(factor: &Scalar) -> (&Scalar, Option<&Scalar>) {
    match factor {
        Scalar::Binary(BinaryOp::Subtract, stored, zero) => (stored, Some(zero)),
        _ => (factor, None),
    }
}

/// The read that a factor is, of values that may be stored in fewer bits.
pub fn stored_read(expr: &TensorExpr, factor: &Scalar) -> Option<ReadId> {
    match factor {
        Scalar::Cast(ElementType::I32, stored) => match **stored {
            Scalar::Read(read) => {
                Some(read).filter(|_| is_word_integer(expr.operands[expr.reads[read].operand].element))
            }
            _ => None,
        },
        _ => plain_read(expr, factor),
    }
}

/// Whether values of an element type are computed as integers of 32 bits.
pub fn is_word_integer(element: ElementType) -> bool {
    matches!(element, ElementType::I32 | ElementType::I16 | ElementType::U16 | ElementType::I8 | ElementType::U8)
}
