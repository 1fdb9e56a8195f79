//! Floating point of 8 bits and fewer: codes in registers to singles and back, by functions of bits.

use warpweave_graph::ElementType;
use warpweave_graph::minifloat::{Format, Overflow, format};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType, UnaryOp};
use crate::lower::emitter::Emitter;

/// The bits of a single's mantissa.
const MANTISSA_BITS: i32 = 23;
/// The bits of an infinite single.
const INFINITY: i32 = 0x7f80_0000;
/// The bits of a single that is no number.
const NAN: i32 = 0x7fc0_0000;

/// The single that a code stands for.
pub(crate) fn decoded(emitter: &mut Emitter, element: ElementType, code: Expression) -> Expression {
    let code = bound(emitter, code);
    let Some(format) = format(element) else {
        // The least power of two is no normal single.
        let least = select(equal(code.clone(), 0), 1 << (MANTISSA_BITS - 1), shifted_left(code.clone(), MANTISSA_BITS));
        return single_of(select(equal(code, 0xff), NAN, least));
    };
    let magnitude = bound(emitter, and(code.clone(), format.sign_code() - 1));
    let sign = shifted_left(and(code.clone(), format.sign_code()), 31 - format.sign_code().ilog2() as i32);
    let sign = bound(emitter, sign);
    // The bits of exponent and mantissa are those of a single that is too small by a power of two.
    let small = single_of(or(shifted_left(magnitude.clone(), MANTISSA_BITS - format.mantissa_bits()), sign.clone()));
    let scale = f32::from_bits(((254 - format.bias()) as u32) << MANTISSA_BITS);
    let value = Expression::binary(BinaryOp::Multiply, small, Expression::f32(scale));
    let past_largest = equal(magnitude.clone(), format.largest_code() + 1);
    match format.overflow() {
        Overflow::Largest => value,
        Overflow::SignedNan => select(past_largest, single_of(NAN), value),
        Overflow::NegativeZeroIsNan => select(equal(code, format.sign_code()), single_of(NAN), value),
        Overflow::Infinity => {
            let infinite = select(past_largest, single_of(or(sign, INFINITY)), single_of(NAN));
            select(less(magnitude, format.largest_code() + 1), value, infinite)
        }
    }
}

/// The code that is nearest to a single, as [`warpweave_graph::minifloat::encode`] has it.
pub(crate) fn encoded(emitter: &mut Emitter, element: ElementType, single: Expression) -> Expression {
    let bits = bound(emitter, Expression::Unary(UnaryOp::Bits, Box::new(single)));
    let Some(format) = format(element) else {
        // Less are negative numbers, zeros and what is less than the least power of two. Infinities and NaN have all bits of the
        // exponent, as the code of NaN has.
        let is_less = less(bits.clone(), 1 << (MANTISSA_BITS - 1));
        return select(is_less, 0xff, shifted_right(bits, MANTISSA_BITS));
    };
    let magnitude = bound(emitter, and(bits.clone(), i32::MAX));
    let sign = bound(emitter, and(shifted_right(bits, 31), format.sign_code()));
    let code = nearest(emitter, format, &magnitude);
    let is_nan = less(INFINITY, magnitude);
    let signed = |code: Expression| or(code, sign.clone());
    let [largest, past] = [0, 1].map(|by| Expression::i32(format.largest_code() + by));
    let otherwise = match format.overflow() {
        Overflow::SignedNan => signed(past),
        Overflow::NegativeZeroIsNan => Expression::i32(format.sign_code()),
        Overflow::Infinity => select(is_nan, signed(Expression::i32(format.sign_code() - 2)), signed(past)),
        Overflow::Largest => {
            let zero = Expression::binary(BinaryOp::BitXor, sign.clone(), Expression::i32(format.sign_code()));
            select(is_nan, zero, signed(largest))
        }
    };
    let within = match format.overflow() {
        Overflow::NegativeZeroIsNan => select(equal(code.clone(), 0), 0, signed(code.clone())),
        Overflow::SignedNan | Overflow::Infinity | Overflow::Largest => signed(code.clone()),
    };
    select(less(format.largest_code(), code), otherwise, within)
}

/// The number in the order of values of the nearest to the single with these bits and no sign, as if codes went on without end.
fn nearest(emitter: &mut Emitter, format: Format, magnitude: &Expression) -> Expression {
    let exponent = add(shifted_right(magnitude.clone(), MANTISSA_BITS), format.bias() - 127);
    let exponent = bound(emitter, exponent);
    let binade = Expression::binary(BinaryOp::Maximum, exponent.clone(), Expression::i32(1));
    let binade = bound(emitter, binade);
    let hidden = 1 << MANTISSA_BITS;
    let mantissa = bound(emitter, or(and(magnitude.clone(), hidden - 1), hidden));
    let below = Expression::binary(BinaryOp::Subtract, binade.clone(), exponent);
    let shift = add(below, MANTISSA_BITS - format.mantissa_bits());
    // Two bits more than the mantissa has leave less than half.
    let shift = Expression::binary(BinaryOp::Minimum, shift, Expression::i32(MANTISSA_BITS + 2));
    let shift = bound(emitter, shift);
    let half = Expression::binary(BinaryOp::ShiftLeft, Expression::i32(1), add(shift.clone(), -1));
    let odd = and(Expression::binary(BinaryOp::ShiftRight, mantissa.clone(), shift.clone()), 1);
    let steps = add(add(mantissa, add(half, -1)), odd);
    let steps = Expression::binary(BinaryOp::ShiftRight, steps, shift);
    bound(emitter, add(shifted_left(add(binade, -1), format.mantissa_bits()), steps))
}

/// The value as a local.
fn bound(emitter: &mut Emitter, value: Expression) -> Expression {
    Expression::Local(emitter.bind(ScalarType::I32, value))
}

/// An operand, which may be a literal of 32 bits.
struct Operand(Expression);

impl From<Expression> for Operand {
    fn from(value: Expression) -> Self {
        Self(value)
    }
}

impl From<i32> for Operand {
    fn from(value: i32) -> Self {
        Self(Expression::i32(value))
    }
}

fn of(op: BinaryOp, left: impl Into<Operand>, right: impl Into<Operand>) -> Expression {
    Expression::binary(op, left.into().0, right.into().0)
}

fn single_of(bits: impl Into<Operand>) -> Expression {
    Expression::Unary(UnaryOp::OfBits, Box::new(bits.into().0))
}

fn select(condition: Expression, then: impl Into<Operand>, otherwise: impl Into<Operand>) -> Expression {
    Expression::Select(Box::new(condition), Box::new(then.into().0), Box::new(otherwise.into().0))
}

fn less(left: impl Into<Operand>, right: impl Into<Operand>) -> Expression {
    of(BinaryOp::Less, left, right)
}

fn equal(left: Expression, right: i32) -> Expression {
    of(BinaryOp::Equal, left, right)
}

fn and(left: Expression, right: i32) -> Expression {
    of(BinaryOp::BitAnd, left, right)
}

fn or(left: Expression, right: impl Into<Operand>) -> Expression {
    of(BinaryOp::BitOr, left, right)
}

fn add(left: Expression, right: impl Into<Operand>) -> Expression {
    of(BinaryOp::Add, left, right)
}

fn shifted_left(value: Expression, by: i32) -> Expression {
    of(BinaryOp::ShiftLeft, value, by)
}

fn shifted_right(value: Expression, by: i32) -> Expression {
    of(BinaryOp::ShiftRight, value, by)
}
