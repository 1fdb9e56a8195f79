//! Element types in registers.
//!
//! Integers of 8 and 16 bits are held in 32 bits, unsigned ones of 32 bits in 64. They are brought back into their
//! range after every function that can leave it. Of floating point of 8 bits and fewer a register holds the code.

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic::{highest, lowest};

use crate::kernel_ir::expression::{BinaryOp, Constant, Expression, ScalarType, UnaryOp};
use crate::kernel_ir::memory::MemoryType;
use crate::lower::arithmetic::scalar_type;
use crate::lower::emitter::Emitter;
use crate::lower::error::LowerError;
use crate::lower::minifloat::{decoded, encoded};

/// A value of one element type as another's. Floating point truncates and saturates, integers wrap, anything becomes a
/// truth value by `≠ 0`.
pub(crate) fn converted(
    emitter: &mut Emitter,
    from: ElementType,
    to: ElementType,
    value: Expression,
) -> Result<Expression, LowerError> {
    let is_code = |element: ElementType| element.is_storage() && element.is_float();
    if is_code(from) {
        let value = decoded(emitter, from, value);
        return converted(emitter, ElementType::F32, to, value);
    }
    if is_code(to) {
        let single = converted(emitter, from, ElementType::F32, value)?;
        return Ok(encoded(emitter, to, single));
    }
    let (held, wanted) = (scalar_type(emitter, from)?, scalar_type(emitter, to)?);
    let value = if held == wanted { value } else { Expression::Cast(wanted, Box::new(value)) };
    Ok(match held {
        ScalarType::F32 => saturated(to, rounded(emitter.memory_type(to)?, value)),
        ScalarType::Bool => value,
        ScalarType::I32 | ScalarType::I64 => rounded(emitter.memory_type(to)?, wrapped(to, value)),
    })
}

/// A value of a register as a store to memory of this type keeps it: what is stored in 16 bits is rounded.
pub(crate) fn rounded(memory: MemoryType, value: Expression) -> Expression {
    match memory.rounding() {
        Some(rounding) => Expression::Unary(rounding, Box::new(value)),
        None => value,
    }
}

/// A function of one value of an element type, in the range of that type.
pub(crate) fn unary_wrapped(element: ElementType, op: UnaryOp, value: Expression) -> Expression {
    let result = Expression::Unary(op, Box::new(value));
    match op {
        UnaryOp::Negate | UnaryOp::Absolute => wrapped(element, result),
        UnaryOp::Not
        | UnaryOp::Exp
        | UnaryOp::Log
        | UnaryOp::Sqrt
        | UnaryOp::Tanh
        | UnaryOp::Logistic
        | UnaryOp::Erf
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Atan
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::RoundEven
        | UnaryOp::ToF16
        | UnaryOp::ToBF16
        | UnaryOp::OfF16
        | UnaryOp::Bits
        | UnaryOp::OfBits => result,
    }
}

/// A function of two values of an element type, in the range of that type.
pub(crate) fn binary_wrapped(element: ElementType, op: BinaryOp, left: Expression, right: Expression) -> Expression {
    if matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight) {
        return shifted(element, op, left, right);
    }
    let result = Expression::binary(op, left, right);
    match op {
        BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Power => {
            wrapped(element, result)
        }
        BinaryOp::Remainder
        | BinaryOp::Minimum
        | BinaryOp::Maximum
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Equal
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => result,
    }
}

/// A register's integer wrapped to the width of its element type.
pub(crate) fn wrapped(element: ElementType, value: Expression) -> Expression {
    let with = |op, value, by| Expression::binary(op, value, Expression::i32(by));
    match element {
        ElementType::I8 => with(BinaryOp::ShiftRight, with(BinaryOp::ShiftLeft, value, 24), 24),
        ElementType::I16 => with(BinaryOp::ShiftRight, with(BinaryOp::ShiftLeft, value, 16), 16),
        ElementType::U8 => with(BinaryOp::BitAnd, value, 255),
        ElementType::U16 => with(BinaryOp::BitAnd, value, 65_535),
        ElementType::I4 => with(BinaryOp::ShiftRight, with(BinaryOp::ShiftLeft, value, 28), 28),
        ElementType::I2 => with(BinaryOp::ShiftRight, with(BinaryOp::ShiftLeft, value, 30), 30),
        ElementType::U4 => with(BinaryOp::BitAnd, value, 15),
        ElementType::U2 => with(BinaryOp::BitAnd, value, 3),
        ElementType::U32 => Expression::binary(BinaryOp::BitAnd, value, held(element, i64::from(u32::MAX))),
        wide => {
            debug_assert!(!is_narrow(wide), "a narrow integer has its way to wrap");
            value
        }
    }
}

/// A single that became a register's integer, between the bounds of its element type; one of fewer than 8 bits wraps.
fn saturated(element: ElementType, value: Expression) -> Expression {
    if element.is_storage() {
        return wrapped(element, value);
    }
    if !is_narrow(element) {
        return value;
    }
    let bound = |op, value, bound: i64| Expression::binary(op, value, held(element, bound));
    bound(BinaryOp::Minimum, bound(BinaryOp::Maximum, value, lowest(element)), highest(element))
}

/// Whether an integer has fewer bits than the register that holds it.
fn is_narrow(element: ElementType) -> bool {
    element.is_integer() && element.bytes() < 4 || element == ElementType::U32
}

/// A literal in the register of an integer.
fn held(element: ElementType, value: i64) -> Expression {
    match element {
        ElementType::U32 | ElementType::I64 => Expression::Constant(Constant::I64(value)),
        _ => Expression::i32(value as i32),
    }
}

/// A shift by any number of bits: 0 where that reaches the width of the element type.
fn shifted(element: ElementType, op: BinaryOp, left: Expression, right: Expression) -> Expression {
    let width = element.bits() as i64;
    let amount = Expression::binary(BinaryOp::Minimum, right.clone(), held(element, width - 1));
    let shifted = wrapped(element, Expression::binary(op, left, amount));
    let inside = Expression::binary(BinaryOp::Less, right, held(element, width));
    Expression::Select(Box::new(inside), Box::new(shifted), Box::new(held(element, 0)))
}
