//! Functions of many integers of 32 bits, which are the bits of singles.

pub(super) mod pairs;
pub(super) mod product;
pub(super) mod quads;

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic::{highest, lowest};
use warpweave_graph::expr::BinaryOp;

use super::functions::Value;
use crate::host::vector::mathematics::{are_small, truncated, truncated_between};
use crate::host::vector::processor::{Processor, vectorised};

/// An integer as it is held.
pub(super) fn of_integer(value: i64) -> f32 {
    f32::from_bits(value as u32)
}

fn integer(value: f32) -> i32 {
    value.to_bits() as i32
}

/// Subtracts other integers, one from one.
pub(super) fn subtract(values: &mut [f32], others: &[f32]) {
    let held = |value: i32| f32::from_bits(value as u32);
    values
        .iter_mut()
        .zip(others)
        .for_each(|(value, other)| *value = held(integer(*value).wrapping_sub(integer(*other))));
}

/// Whether [`of_integers`] has a function.
pub(super) fn is_of_integers(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Maximum, Minimum, Multiply, Subtract};
    matches!(op, Add | Subtract | Multiply | Minimum | Maximum)
}

/// A function of integers, which wraps.
pub(super) fn of_integers(processor: Processor, op: BinaryOp, left: Value, right: Value, out: &mut [f32]) {
    let (first, second);
    let one = match left {
        Value::Many(values) => values,
        Value::One(only) => {
            first = [only];
            &first
        }
    };
    let other = match right {
        Value::Many(values) => values,
        Value::One(only) => {
            second = [only];
            &second
        }
    };
    of_slices(processor, op, one, other, out);
}

vectorised! {
fn of_slices<I, Avx512>(processor, op: BinaryOp, left: &[f32], right: &[f32], out: &mut [f32]) {
    match op {
        BinaryOp::Add => apply(left, right, out, i32::wrapping_add),
        BinaryOp::Subtract => apply(left, right, out, i32::wrapping_sub),
        BinaryOp::Multiply => apply(left, right, out, i32::wrapping_mul),
        BinaryOp::Minimum => apply(left, right, out, |x, y| if x < y { x } else { y }),
        BinaryOp::Maximum => apply(left, right, out, |x, y| if x > y { x } else { y }),
        _ => unreachable!("programs have no other function of integers"),
    }
}
}

/// Of each element; a slice of one stands for as many as there are.
#[inline(always)]
fn apply(left: &[f32], right: &[f32], out: &mut [f32], function: impl Fn(i32, i32) -> i32) {
    let held = |value: i32| f32::from_bits(value as u32);
    match (left, right) {
        ([left], right) if out.len() > 1 => {
            let right = &right[..right.len().min(out.len())];
            if let [right] = right {
                return out.fill(held(function(integer(*left), integer(*right))));
            }
            out.iter_mut().zip(right).for_each(|(out, right)| *out = held(function(integer(*left), integer(*right))));
        }
        (left, [right]) if out.len() > 1 => {
            out.iter_mut().zip(left).for_each(|(out, left)| *out = held(function(integer(*left), integer(*right))));
        }
        _ => {
            let both = left.iter().zip(right);
            out.iter_mut().zip(both).for_each(|(out, (left, right))| {
                *out = held(function(integer(*left), integer(*right)));
            });
        }
    }
}

vectorised! {
/// Integers as singles, rounded to nearest.
pub(super) fn to_singles<I, Avx512>(processor, values: &[f32], out: &mut [f32]) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = integer(*value) as f32);
}
}

/// Singles as integers of a type: truncated, and saturated as [`truncate`](warpweave_graph::arithmetic::truncate) does.
pub(super) fn to_integers(processor: Processor, to: ElementType, values: &[f32], out: &mut [f32]) {
    if to != ElementType::I32 && !to.is_storage() {
        return truncate_between(processor, lowest(to) as f32, highest(to) as f32, values, out);
    }
    truncate_many(processor, values, out);
    // A type that is only stored takes the low bits of an integer of 32.
    if to.is_storage() {
        narrow_in_place(processor, to, out);
    }
}

vectorised! {
fn truncate_many<I, Avx512>(processor, values: &[f32], out: &mut [f32]) {
    if are_small(values) {
        return out.iter_mut().zip(values).for_each(|(out, value)| *out = f32::from_bits(truncated(*value) as u32));
    }
    out.iter_mut().zip(values).for_each(|(out, value)| *out = f32::from_bits(*value as i32 as u32));
}
}

vectorised! {
fn truncate_between<I, Avx512>(processor, least: f32, most: f32, values: &[f32], out: &mut [f32]) {
    let truncated = |value: f32| f32::from_bits(truncated_between(value, least, most) as u32);
    out.iter_mut().zip(values).for_each(|(out, value)| *out = truncated(*value));
}
}

/// The low bits of integers, as a type of fewer bits has them.
pub(super) fn narrow(processor: Processor, to: ElementType, values: &[f32], out: &mut [f32]) {
    out.copy_from_slice(&values[..out.len()]);
    narrow_in_place(processor, to, out);
}

vectorised! {
fn narrow_in_place<I, Avx512>(processor, to: ElementType, values: &mut [f32]) {
    match to {
        ElementType::U8 => each(values, |value| i32::from(value as u8)),
        ElementType::I8 => each(values, |value| i32::from(value as i8)),
        ElementType::U16 => each(values, |value| i32::from(value as u16)),
        ElementType::I16 => each(values, |value| i32::from(value as i16)),
        _ => {}
    }
}
}

#[inline(always)]
fn each(values: &mut [f32], function: impl Fn(i32) -> i32) {
    values.iter_mut().for_each(|value| *value = f32::from_bits(function(integer(*value)) as u32));
}

vectorised! {
/// The lowest byte of each integer.
pub(super) fn low_bytes<I, Avx512>(processor, values: &[f32], out: &mut [u8]) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = integer(*value) as u8);
}
}

vectorised! {
/// The low 16 bits of each integer.
pub(super) fn low_halves<I, Avx512>(processor, values: &[f32], out: &mut [u16]) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = integer(*value) as u16);
}
}

#[cfg(test)]
mod tests {
    use warpweave_graph::arithmetic::{truncate, wrap};

    use super::*;

    const INTEGERS: [ElementType; 5] =
        [ElementType::I32, ElementType::I16, ElementType::U16, ElementType::I8, ElementType::U8];

    fn held(values: &[i32]) -> Vec<f32> {
        values.iter().map(|value| of_integer(i64::from(*value))).collect()
    }

    #[test]
    fn conversions_are_those_of_arithmetic() {
        let singles = [
            0.0,
            -0.5,
            1.9,
            -1.9,
            127.5,
            128.0,
            -128.9,
            -129.0,
            255.9,
            256.0,
            65535.5,
            7e4,
            -3e9,
            3e9,
            f32::NAN,
            f32::INFINITY,
        ];
        let integers = [0, 1, -1, 127, 128, -128, -129, 255, 256, 65535, -32769, 1 << 24 | 1, i32::MAX, i32::MIN];
        for processor in Processor::all() {
            for element in INTEGERS {
                let mut out = [0.0; 16];
                to_integers(processor, element, &singles, &mut out);
                for (single, found) in singles.iter().zip(out) {
                    assert_eq!(
                        i64::from(integer(found)),
                        truncate(element, f64::from(*single)),
                        "{single} as {element}"
                    );
                }
                let mut out = [0.0; 14];
                narrow(processor, element, &held(&integers), &mut out);
                let expected = integers.map(|value| wrap(element, i64::from(value)));
                assert_eq!(out.map(|value| i64::from(integer(value))), expected, "{element}");
            }
            let mut out = [0.0; 14];
            to_singles(processor, &held(&integers), &mut out);
            assert_eq!(out, integers.map(|value| value as f32));
        }
    }

    #[test]
    fn functions_wrap() {
        let (left, right) = ([5, i32::MAX, -7, 1 << 20], [3, 2, i32::MIN, 1 << 13]);
        for processor in Processor::all() {
            let check = |op: BinaryOp, function: fn(i32, i32) -> i32| {
                let (held_left, held_right) = (held(&left), held(&right));
                let mut out = [0.0; 4];
                of_integers(processor, op, Value::Many(&held_left), Value::Many(&held_right), &mut out);
                assert_eq!(out.map(integer), std::array::from_fn(|at| function(left[at], right[at])));
                of_integers(processor, op, Value::Many(&held_left), Value::One(held_right[1]), &mut out);
                assert_eq!(out.map(integer), left.map(|value| function(value, right[1])));
                of_integers(processor, op, Value::One(held_left[1]), Value::Many(&held_right), &mut out);
                assert_eq!(out.map(integer), right.map(|value| function(left[1], value)));
                of_integers(processor, op, Value::One(held_left[1]), Value::One(held_right[1]), &mut out);
                assert_eq!(out.map(integer), [function(left[1], right[1]); 4]);
            };
            check(BinaryOp::Add, i32::wrapping_add);
            check(BinaryOp::Subtract, i32::wrapping_sub);
            check(BinaryOp::Multiply, i32::wrapping_mul);
            check(BinaryOp::Minimum, i32::min);
            check(BinaryOp::Maximum, i32::max);
        }
    }
}
