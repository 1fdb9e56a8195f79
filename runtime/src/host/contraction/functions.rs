//! Functions of many singles.

use warpweave_graph::expr::{BinaryOp, UnaryOp};

use crate::host::lanes::single_function;
use crate::host::simd::{maximum, minimum};
use crate::host::vector::mathematics::{error_function, exponential, hyperbolic_tangent, logarithm};
use crate::host::vector::processor::vectorised;

/// What a function takes: as many values as it gives, or one for all.
#[derive(Clone, Copy)]
pub(super) enum Value<'v> {
    One(f32),
    Many(&'v [f32]),
}

vectorised! {
/// A function of each value.
pub(super) fn unary_of_many<I, Avx512>(processor, op: UnaryOp, values: &[f32], out: &mut [f32]) {
    match op {
        UnaryOp::Negate => map(values, out, |x| -x),
        UnaryOp::Absolute => map(values, out, f32::abs),
        UnaryOp::Not => map(values, out, |x| if x == 0.0 { 1.0 } else { 0.0 }),
        UnaryOp::Exp => map(values, out, exponential::<I>),
        UnaryOp::Log => map(values, out, logarithm::<I>),
        UnaryOp::Sqrt => map(values, out, f32::sqrt),
        UnaryOp::Tanh => map(values, out, hyperbolic_tangent::<I>),
        UnaryOp::Erf => map(values, out, error_function::<I>),
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Atan => map(values, out, single_function(op)),
        UnaryOp::Floor => map(values, out, f32::floor),
        UnaryOp::Ceil => map(values, out, f32::ceil),
        UnaryOp::RoundEven => map(values, out, f32::round_ties_even),
    }
}
}

/// A function of each value, which the caller compiles for its vectors.
#[inline(always)]
pub(super) fn map(values: &[f32], out: &mut [f32], function: impl Fn(f32) -> f32) {
    let count = out.len().min(values.len());
    let (values, out) = (&values[..count], &mut out[..count]);
    for at in 0..count {
        out[at] = function(values[at]);
    }
}

vectorised! {
/// A function of two values each.
pub(super) fn binary_of_many<I, Avx512>(processor, op: BinaryOp, left: Value, right: Value, out: &mut [f32]) {
    match op {
        BinaryOp::Add => apply(left, right, out, |x, y| x + y),
        BinaryOp::Subtract => apply(left, right, out, |x, y| x - y),
        BinaryOp::Multiply => apply(left, right, out, |x, y| x * y),
        BinaryOp::Divide => apply(left, right, out, |x, y| x / y),
        BinaryOp::Remainder => apply(left, right, out, |x, y| x % y),
        BinaryOp::Minimum => apply(left, right, out, minimum),
        BinaryOp::Maximum => apply(left, right, out, maximum),
        BinaryOp::Power => apply(left, right, out, f32::powf),
        BinaryOp::Less => apply(left, right, out, |x, y| if x < y { 1.0 } else { 0.0 }),
        BinaryOp::LessEqual => apply(left, right, out, |x, y| if x <= y { 1.0 } else { 0.0 }),
        BinaryOp::Equal => apply(left, right, out, |x, y| if x == y { 1.0 } else { 0.0 }),
        BinaryOp::And => apply(left, right, out, |x, y| if x != 0.0 && y != 0.0 { 1.0 } else { 0.0 }),
        BinaryOp::Or => apply(left, right, out, |x, y| if x != 0.0 || y != 0.0 { 1.0 } else { 0.0 }),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            unreachable!("operators refuse the bits of floating point")
        }
    }
}
}

#[inline(always)]
fn apply(left: Value, right: Value, out: &mut [f32], function: impl Fn(f32, f32) -> f32) {
    let count = out.len();
    match (left, right) {
        (Value::Many(left), Value::Many(right)) => {
            let (left, right) = (&left[..count], &right[..count]);
            for at in 0..count {
                out[at] = function(left[at], right[at]);
            }
        }
        (Value::Many(left), Value::One(right)) => {
            let left = &left[..count];
            for at in 0..count {
                out[at] = function(left[at], right);
            }
        }
        (Value::One(left), Value::Many(right)) => {
            let right = &right[..count];
            for at in 0..count {
                out[at] = function(left, right[at]);
            }
        }
        (Value::One(left), Value::One(right)) => out.fill(function(left, right)),
    }
}

vectorised! {
/// The second where the first is not 0, the third elsewhere.
pub(super) fn select<I, Avx512>(processor, condition: Value, then: Value, otherwise: Value, out: &mut [f32]) {
    let Value::Many(condition) = condition else {
        let Value::One(holds) = condition else { return };
        return apply(if holds != 0.0 { then } else { otherwise }, Value::One(0.0), out, |chosen, _| chosen);
    };
    let chosen = |holds: f32, then: f32, otherwise: f32| if holds != 0.0 { then } else { otherwise };
    let count = out.len();
    let condition = &condition[..count];
    match (then, otherwise) {
        (Value::Many(then), Value::Many(otherwise)) => {
            let (then, otherwise) = (&then[..count], &otherwise[..count]);
            for at in 0..count {
                out[at] = chosen(condition[at], then[at], otherwise[at]);
            }
        }
        (then, Value::One(otherwise)) => apply(Value::Many(condition), then, out, |holds, then| chosen(holds, then, otherwise)),
        (Value::One(then), otherwise) => {
            apply(Value::Many(condition), otherwise, out, |holds, otherwise| chosen(holds, then, otherwise));
        }
    }
}
}
