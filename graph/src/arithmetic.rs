//! What scalar operations give, by element type.
//!
//! Integers are held in 64 bits, `U64` as their two's complement, and wrap at the width of their type. Floating point becomes
//! an integer by truncation and saturates; NaN becomes 0. A quotient or remainder by zero is zero. Of two zeros the negative
//! one is the smaller, so that an extreme is the same whatever the order.
//!
//! Nothing is computed in storage types: values are rounded to them and wrap at their width. Floating point becomes an integer of
//! fewer than 8 bits by way of 32 bits, at which it saturates, and wraps from there, as in ONNX's cases.

use half::{bf16, f16};

use crate::expr::{BinaryOp, UnaryOp};
use crate::minifloat;
use crate::numerics::{Class, FloatFormat};
use crate::types::ElementType;

/// A function of a double.
pub fn float_unary(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Negate => -x,
        UnaryOp::Absolute => x.abs(),
        UnaryOp::Not => f64::from(u8::from(x == 0.0)),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::RoundEven => x.round_ties_even(),
    }
}

/// A function of an integer of a type.
pub fn integer_unary(op: UnaryOp, element: ElementType, x: i64) -> i64 {
    match op {
        UnaryOp::Negate => wrap(element, x.wrapping_neg()),
        UnaryOp::Absolute if element == ElementType::U64 => x,
        UnaryOp::Absolute => wrap(element, x.wrapping_abs()),
        UnaryOp::Not => i64::from(x == 0),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven => x,
        UnaryOp::Exp
        | UnaryOp::Log
        | UnaryOp::Sqrt
        | UnaryOp::Tanh
        | UnaryOp::Erf
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Atan => truncate(element, float_unary(op, x as f64)),
    }
}

/// A function of two doubles; comparisons give 0 or 1.
pub fn float_binary(op: BinaryOp, x: f64, y: f64) -> f64 {
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Subtract => x - y,
        BinaryOp::Multiply => x * y,
        BinaryOp::Divide => x / y,
        BinaryOp::Remainder => x % y,
        BinaryOp::Minimum => extreme(x, y, x < y, x.is_sign_negative()),
        BinaryOp::Maximum => extreme(x, y, x > y, x.is_sign_positive()),
        BinaryOp::Power => x.powf(y),
        BinaryOp::Less => f64::from(u8::from(x < y)),
        BinaryOp::LessEqual => f64::from(u8::from(x <= y)),
        BinaryOp::Equal => f64::from(u8::from(x == y)),
        BinaryOp::And => f64::from(u8::from(x != 0.0 && y != 0.0)),
        BinaryOp::Or => f64::from(u8::from(x != 0.0 || y != 0.0)),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            unreachable!("operators refuse the bits of floating point")
        }
    }
}

/// The first of two doubles if it is further, or if they are equal and it is preferred, else the second; NaN if either is.
fn extreme(x: f64, y: f64, is_further: bool, is_preferred: bool) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if is_further || (x == y && is_preferred) { x } else { y }
}

/// A function of two integers of a type; comparisons give 0 or 1.
pub fn integer_binary(op: BinaryOp, element: ElementType, x: i64, y: i64) -> i64 {
    let unsigned = element == ElementType::U64;
    let (x_unsigned, y_unsigned) = (x as u64, y as u64);
    let less = if unsigned { x_unsigned < y_unsigned } else { x < y };
    match op {
        BinaryOp::Add => wrap(element, x.wrapping_add(y)),
        BinaryOp::Subtract => wrap(element, x.wrapping_sub(y)),
        BinaryOp::Multiply => wrap(element, x.wrapping_mul(y)),
        BinaryOp::Divide | BinaryOp::Remainder if y == 0 => 0,
        BinaryOp::Divide if unsigned => (x_unsigned / y_unsigned) as i64,
        BinaryOp::Divide => wrap(element, x.wrapping_div(y)),
        BinaryOp::Remainder if unsigned => (x_unsigned % y_unsigned) as i64,
        BinaryOp::Remainder => wrap(element, x.wrapping_rem(y)),
        BinaryOp::Minimum => {
            if less {
                x
            } else {
                y
            }
        }
        BinaryOp::Maximum => {
            if less {
                y
            } else {
                x
            }
        }
        BinaryOp::Power => power(element, x, y),
        BinaryOp::Less => i64::from(less),
        BinaryOp::LessEqual => i64::from(less || x == y),
        BinaryOp::Equal => i64::from(x == y),
        BinaryOp::And => i64::from(x != 0 && y != 0),
        BinaryOp::Or => i64::from(x != 0 || y != 0),
        BinaryOp::BitAnd => x & y,
        BinaryOp::BitOr => x | y,
        BinaryOp::BitXor => x ^ y,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight if y_unsigned >= element.bits() as u64 => 0,
        BinaryOp::ShiftLeft => wrap(element, x << y),
        BinaryOp::ShiftRight => (x_unsigned >> y) as i64,
    }
}

/// xʸ by squaring; a negative exponent truncates, as division does.
pub fn power(element: ElementType, x: i64, y: i64) -> i64 {
    if y < 0 {
        return match x {
            1 => 1,
            -1 => 1 - 2 * y.rem_euclid(2),
            _ => 0,
        };
    }
    let (mut result, mut base, mut exponent) = (1i64, x, y);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent /= 2;
    }
    wrap(element, result)
}

/// The nearest value of a floating-point type, as [`minifloat::encode`] says for those of 8 bits and fewer.
pub fn round(element: ElementType, value: f64) -> f64 {
    match element.class() {
        Class::Float(FloatFormat::Half) => f64::from(half(value)),
        Class::Float(FloatFormat::BFloat16) => f64::from(bfloat(value)),
        Class::Float(FloatFormat::Single) => f64::from(value as f32),
        Class::Float(FloatFormat::Minifloat(_) | FloatFormat::PowerOfTwo) => {
            minifloat::decode(element, minifloat::encode(element, value))
        }
        Class::Float(FloatFormat::Double) | Class::Boolean | Class::Signed | Class::Unsigned => value,
    }
}

/// The nearest half, ties to even.
pub fn half(value: f64) -> f16 {
    f16::from_f32(rounded_to_odd(value))
}

/// The nearest number of eight significant bits, ties to even.
pub fn bfloat(value: f64) -> bf16 {
    bf16::from_f32(rounded_to_odd(value))
}

/// The single next to a value towards zero, with its last bit set if it is not the value itself. What rounds it further
/// rounds as if it rounded the value.
fn rounded_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let found = f64::from(nearest);
    if found == value || value.is_nan() {
        return nearest;
    }
    let beyond = u32::from(found.abs() > value.abs());
    f32::from_bits((nearest.to_bits() - beyond) | 1)
}

/// The integer wrapped to the width of its type.
pub fn wrap(element: ElementType, value: i64) -> i64 {
    let unused = i64::BITS - element.bits() as u32;
    match element.class() {
        Class::Boolean => i64::from(value != 0),
        Class::Signed => value << unused >> unused,
        Class::Unsigned => ((value as u64) << unused >> unused) as i64,
        Class::Float(_) => value,
    }
}

/// A floating-point value as an integer of a type: truncated and saturated, or whether it is not 0. Storage types wrap.
pub fn truncate(element: ElementType, value: f64) -> i64 {
    match element.class() {
        Class::Boolean => i64::from(value != 0.0),
        Class::Signed | Class::Unsigned if element.is_storage() => wrap(element, i64::from(value as i32)),
        Class::Unsigned if element.bits() == 64 => (value as u64) as i64,
        Class::Signed | Class::Unsigned => (value as i64).clamp(lowest(element), highest(element)),
        Class::Float(_) => value as i64,
    }
}

/// The smallest integer of a type; 0 for floating point.
pub fn lowest(element: ElementType) -> i64 {
    match element.class() {
        Class::Signed => -1 << (element.bits() - 1),
        Class::Boolean | Class::Unsigned | Class::Float(_) => 0,
    }
}

/// The largest integer of a type, that of `U64` as its two's complement; 0 for floating point.
pub fn highest(element: ElementType) -> i64 {
    match element.class() {
        Class::Boolean => 1,
        Class::Signed => !lowest(element),
        Class::Unsigned => wrap(element, -1),
        Class::Float(_) => 0,
    }
}
