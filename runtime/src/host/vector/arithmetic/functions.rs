//! The functions of scalars, register by register.

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic;
use warpweave_graph::expr::{BinaryOp, UnaryOp};

use super::halves;
use super::mathematics::{
    are_small, bfloat_of_single, error_function, exponential, hyperbolic_tangent, logarithm, single_of_bfloat,
    truncated, truncated_between,
};
use super::processor::vectorised;
use crate::host::simd::{maximum, minimum};
use crate::host::vector::frame::{Frame, Kind, Number, Slot};

/// So many points of a register are worked on.
#[inline(always)]
fn length(to: Slot, count: usize) -> usize {
    if to.is_uniform { 1 } else { count }
}

#[inline(always)]
fn map<T: Number, U: Number>(frame: &mut Frame, of: Slot, to: Slot, count: usize, function: impl Fn(T) -> U) {
    let mut out = frame.take::<U>(to);
    let values = frame.values::<T>(of);
    if of.is_uniform {
        out[..length(to, count)].fill(function(values[0]));
    } else {
        for (out, value) in out[..count].iter_mut().zip(&values[..count]) {
            *out = function(*value);
        }
    }
    frame.put(to, out);
}

#[inline(always)]
fn zip<T: Number, U: Number>(
    frame: &mut Frame,
    [left, right]: [Slot; 2],
    to: Slot,
    count: usize,
    function: impl Fn(T, T) -> U,
) {
    let mut out = frame.take::<U>(to);
    let (a, b) = (frame.values::<T>(left), frame.values::<T>(right));
    match (left.is_uniform, right.is_uniform) {
        (true, true) => out[..length(to, count)].fill(function(a[0], b[0])),
        (true, false) => {
            let a = a[0];
            for (out, b) in out[..count].iter_mut().zip(&b[..count]) {
                *out = function(a, *b);
            }
        }
        (false, true) => {
            let b = b[0];
            for (out, a) in out[..count].iter_mut().zip(&a[..count]) {
                *out = function(*a, b);
            }
        }
        (false, false) => {
            for (out, (a, b)) in out[..count].iter_mut().zip(a[..count].iter().zip(&b[..count])) {
                *out = function(*a, *b);
            }
        }
    }
    frame.put(to, out);
}

/// A function of values of an element type.
pub(crate) fn unary(op: UnaryOp, element: ElementType, of: Slot, to: Slot, count: usize, frame: &mut Frame) {
    match of.kind {
        Kind::Single => single_unary(frame.processor(), op, of, to, count, frame),
        Kind::Double => match op {
            UnaryOp::Negate => map(frame, of, to, count, |x: f64| -x),
            UnaryOp::Absolute => map(frame, of, to, count, f64::abs),
            UnaryOp::Sqrt => map(frame, of, to, count, f64::sqrt),
            _ => map(frame, of, to, count, |x| arithmetic::float_unary(op, x)),
        },
        Kind::Word => match op {
            UnaryOp::Not => map(frame, of, to, count, |x: i32| i32::from(x == 0)),
            _ => map(frame, of, to, count, |x: i32| arithmetic::integer_unary(op, element, x.into()) as i32),
        },
        Kind::Long => map(frame, of, to, count, |x| arithmetic::integer_unary(op, element, x)),
    }
}

vectorised! {
fn single_unary<I, Avx512>(processor, op: UnaryOp, of: Slot, to: Slot, count: usize, frame: &mut Frame) {
    match op {
        UnaryOp::Negate => map(frame, of, to, count, |x: f32| -x),
        UnaryOp::Absolute => map(frame, of, to, count, f32::abs),
        UnaryOp::Not => map(frame, of, to, count, |x: f32| if x == 0.0 { 1.0f32 } else { 0.0 }),
        UnaryOp::Exp => map(frame, of, to, count, exponential::<I>),
        UnaryOp::Log => map(frame, of, to, count, logarithm::<I>),
        UnaryOp::Sqrt => map(frame, of, to, count, f32::sqrt),
        UnaryOp::Tanh => map(frame, of, to, count, hyperbolic_tangent::<I>),
        UnaryOp::Erf => map(frame, of, to, count, error_function::<I>),
        UnaryOp::Sin => map(frame, of, to, count, f32::sin),
        UnaryOp::Cos => map(frame, of, to, count, f32::cos),
        UnaryOp::Atan => map(frame, of, to, count, f32::atan),
        UnaryOp::Floor => map(frame, of, to, count, f32::floor),
        UnaryOp::Ceil => map(frame, of, to, count, f32::ceil),
        UnaryOp::RoundEven => map(frame, of, to, count, f32::round_ties_even),
    }
}
}

/// A function of two values of an element type.
pub(crate) fn binary(op: BinaryOp, element: ElementType, of: [Slot; 2], to: Slot, count: usize, frame: &mut Frame) {
    match of[0].kind {
        Kind::Single => single_binary(frame.processor(), op, of, to, count, frame),
        Kind::Double => double_binary(frame.processor(), op, of, to, count, frame),
        Kind::Word => word_binary(frame.processor(), op, element, of, to, count, frame),
        Kind::Long => long_binary(frame.processor(), op, element, of, to, count, frame),
    }
}

vectorised! {
fn single_binary<I, Avx512>(processor, op: BinaryOp, of: [Slot; 2], to: Slot, count: usize, frame: &mut Frame) {
    match op {
        BinaryOp::Add => zip(frame, of, to, count, |x: f32, y| x + y),
        BinaryOp::Subtract => zip(frame, of, to, count, |x: f32, y| x - y),
        BinaryOp::Multiply => zip(frame, of, to, count, |x: f32, y| x * y),
        BinaryOp::Divide => zip(frame, of, to, count, |x: f32, y| x / y),
        BinaryOp::Remainder => zip(frame, of, to, count, |x: f32, y| x % y),
        BinaryOp::Minimum => zip(frame, of, to, count, minimum),
        BinaryOp::Maximum => zip(frame, of, to, count, maximum),
        BinaryOp::Power => zip(frame, of, to, count, f32::powf),
        BinaryOp::Less => zip(frame, of, to, count, |x: f32, y| i32::from(x < y)),
        BinaryOp::LessEqual => zip(frame, of, to, count, |x: f32, y| i32::from(x <= y)),
        BinaryOp::Equal => zip(frame, of, to, count, |x: f32, y| i32::from(x == y)),
        BinaryOp::And => zip(frame, of, to, count, |x: f32, y| f32::from(u8::from(x != 0.0 && y != 0.0))),
        BinaryOp::Or => zip(frame, of, to, count, |x: f32, y| f32::from(u8::from(x != 0.0 || y != 0.0))),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            unreachable!("operators refuse the bits of floating point")
        }
    }
}
}

vectorised! {
fn double_binary<I>(processor, op: BinaryOp, of: [Slot; 2], to: Slot, count: usize, frame: &mut Frame) {
    match op {
        BinaryOp::Add => zip(frame, of, to, count, |x: f64, y| x + y),
        BinaryOp::Subtract => zip(frame, of, to, count, |x: f64, y| x - y),
        BinaryOp::Multiply => zip(frame, of, to, count, |x: f64, y| x * y),
        BinaryOp::Divide => zip(frame, of, to, count, |x: f64, y| x / y),
        op if op.is_comparison() => {
            zip(frame, of, to, count, |x, y| i32::from(arithmetic::float_binary(op, x, y) != 0.0));
        }
        op => zip(frame, of, to, count, |x, y| arithmetic::float_binary(op, x, y)),
    }
}
}

vectorised! {
fn word_binary<I>(processor, op: BinaryOp, element: ElementType, of: [Slot; 2], to: Slot, count: usize, frame: &mut Frame) {
    match op {
        BinaryOp::Less => zip(frame, of, to, count, |x: i32, y| i32::from(x < y)),
        BinaryOp::LessEqual => zip(frame, of, to, count, |x: i32, y| i32::from(x <= y)),
        BinaryOp::Equal => zip(frame, of, to, count, |x: i32, y| i32::from(x == y)),
        BinaryOp::Minimum => zip(frame, of, to, count, |x: i32, y: i32| x.min(y)),
        BinaryOp::Maximum => zip(frame, of, to, count, |x: i32, y: i32| x.max(y)),
        BinaryOp::And => zip(frame, of, to, count, |x: i32, y| i32::from(x != 0 && y != 0)),
        BinaryOp::Or => zip(frame, of, to, count, |x: i32, y| i32::from(x != 0 || y != 0)),
        BinaryOp::Add if element == ElementType::I32 => zip(frame, of, to, count, i32::wrapping_add),
        BinaryOp::Subtract if element == ElementType::I32 => zip(frame, of, to, count, i32::wrapping_sub),
        BinaryOp::Multiply if element == ElementType::I32 => zip(frame, of, to, count, i32::wrapping_mul),
        op => zip(frame, of, to, count, |x: i32, y: i32| {
            arithmetic::integer_binary(op, element, x.into(), y.into()) as i32
        }),
    }
}
}

vectorised! {
fn long_binary<I>(processor, op: BinaryOp, element: ElementType, of: [Slot; 2], to: Slot, count: usize, frame: &mut Frame) {
    let is_whole = element.bits() == 64;
    let is_signed = element != ElementType::U64;
    match op {
        BinaryOp::Equal => zip(frame, of, to, count, |x: i64, y| i32::from(x == y)),
        BinaryOp::Less if is_signed => zip(frame, of, to, count, |x: i64, y| i32::from(x < y)),
        BinaryOp::LessEqual if is_signed => zip(frame, of, to, count, |x: i64, y| i32::from(x <= y)),
        BinaryOp::Minimum if is_signed => zip(frame, of, to, count, |x: i64, y: i64| x.min(y)),
        BinaryOp::Maximum if is_signed => zip(frame, of, to, count, |x: i64, y: i64| x.max(y)),
        op if op.is_comparison() => {
            zip(frame, of, to, count, |x, y| arithmetic::integer_binary(op, element, x, y) as i32);
        }
        BinaryOp::Add if is_whole => zip(frame, of, to, count, i64::wrapping_add),
        BinaryOp::Subtract if is_whole => zip(frame, of, to, count, i64::wrapping_sub),
        BinaryOp::Multiply if is_whole => zip(frame, of, to, count, i64::wrapping_mul),
        op => zip(frame, of, to, count, |x, y| arithmetic::integer_binary(op, element, x, y)),
    }
}
}

vectorised! {
fn select_values<I>(processor, of: [Slot; 3], to: Slot, count: usize, frame: &mut Frame) {
    match to.kind {
        Kind::Single => choose::<f32>(of, to, count, frame),
        Kind::Double => choose::<f64>(of, to, count, frame),
        Kind::Word => choose::<i32>(of, to, count, frame),
        Kind::Long => choose::<i64>(of, to, count, frame),
    }
}
}

#[inline(always)]
fn choose<T: Number>([condition, then, otherwise]: [Slot; 3], to: Slot, count: usize, frame: &mut Frame) {
    let mut out = frame.take::<T>(to);
    let count = length(to, count);
    let conditions = frame.values::<i32>(condition);
    let (a, b) = (frame.values::<T>(then), frame.values::<T>(otherwise));
    if condition.is_uniform {
        let (from, is_uniform) = if conditions[0] != 0 { (a, then.is_uniform) } else { (b, otherwise.is_uniform) };
        if is_uniform {
            out[..count].fill(from[0]);
        } else {
            out[..count].copy_from_slice(&from[..count]);
        }
    } else {
        let chosen = |holds: i32, a: T, b: T| if holds != 0 { a } else { b };
        let pairs = out[..count].iter_mut().zip(&conditions[..count]);
        match (then.is_uniform, otherwise.is_uniform) {
            (false, false) => {
                for ((out, holds), (a, b)) in pairs.zip(a[..count].iter().zip(&b[..count])) {
                    *out = chosen(*holds, *a, *b);
                }
            }
            (true, false) => {
                let a = a[0];
                pairs.zip(&b[..count]).for_each(|((out, holds), b)| *out = chosen(*holds, a, *b));
            }
            (false, true) => {
                let b = b[0];
                pairs.zip(&a[..count]).for_each(|((out, holds), a)| *out = chosen(*holds, *a, b));
            }
            (true, true) => {
                let (a, b) = (a[0], b[0]);
                pairs.for_each(|(out, holds)| *out = chosen(*holds, a, b));
            }
        }
    }
    frame.put(to, out);
}

vectorised! {
fn convert<I>(processor, types: [ElementType; 2], of: Slot, to: Slot, count: usize, frame: &mut Frame) {
    let [from, into] = types;
    let whole = |value: i64| if from == ElementType::U64 { value as u64 as f64 } else { value as f64 };
    match (of.kind, to.kind) {
        (Kind::Single, Kind::Single) => match into {
            ElementType::F32 => map(frame, of, to, count, |x: f32| x),
            ElementType::BF16 => map(frame, of, to, count, |x: f32| single_of_bfloat(bfloat_of_single(x))),
            _ => map(frame, of, to, count, |x: f32| arithmetic::round(into, x.into()) as f32),
        },
        (Kind::Single, Kind::Double) => map(frame, of, to, count, |x: f32| f64::from(x)),
        (Kind::Single, Kind::Word) => match into {
            ElementType::Bool => map(frame, of, to, count, |x: f32| i32::from(x != 0.0)),
            ElementType::I32 if are_small(&frame.values::<f32>(of)[..length(of, count)]) => {
                map(frame, of, to, count, truncated);
            }
            ElementType::I32 => map(frame, of, to, count, |x: f32| x as i32),
            ElementType::U8 | ElementType::I8 | ElementType::U16 | ElementType::I16 if !into.is_storage() => {
                let (least, most) = (arithmetic::lowest(into) as f32, arithmetic::highest(into) as f32);
                map(frame, of, to, count, |x: f32| truncated_between(x, least, most));
            }
            _ => map(frame, of, to, count, |x: f32| arithmetic::truncate(into, x.into()) as i32),
        },
        (Kind::Single, Kind::Long) => map(frame, of, to, count, |x: f32| arithmetic::truncate(into, x.into())),
        (Kind::Double, Kind::Single) => map(frame, of, to, count, |x| arithmetic::round(into, x) as f32),
        (Kind::Double, Kind::Double) => map(frame, of, to, count, |x: f64| x),
        (Kind::Double, Kind::Word) => map(frame, of, to, count, |x| arithmetic::truncate(into, x) as i32),
        (Kind::Double, Kind::Long) => map(frame, of, to, count, |x| arithmetic::truncate(into, x)),
        (Kind::Word, Kind::Single) if into == ElementType::F32 => map(frame, of, to, count, |x: i32| x as f32),
        (Kind::Word, Kind::Single) => {
            map(frame, of, to, count, |x: i32| arithmetic::round(into, f64::from(x)) as f32);
        }
        (Kind::Word, Kind::Double) => map(frame, of, to, count, |x: i32| f64::from(x)),
        (Kind::Word, Kind::Word) => match into {
            ElementType::I32 => map(frame, of, to, count, |x: i32| x),
            ElementType::U8 => map(frame, of, to, count, |x: i32| i32::from(x as u8)),
            ElementType::I8 => map(frame, of, to, count, |x: i32| i32::from(x as i8)),
            ElementType::U16 => map(frame, of, to, count, |x: i32| i32::from(x as u16)),
            ElementType::I16 => map(frame, of, to, count, |x: i32| i32::from(x as i16)),
            _ => map(frame, of, to, count, |x: i32| arithmetic::wrap(into, x.into()) as i32),
        },
        (Kind::Word, Kind::Long) => map(frame, of, to, count, |x: i32| arithmetic::wrap(into, x.into())),
        (Kind::Long, Kind::Word) if into == ElementType::I32 => map(frame, of, to, count, |x: i64| x as i32),
        (Kind::Long, Kind::Single) if into == ElementType::F32 => match from {
            ElementType::U64 => map(frame, of, to, count, |x: i64| x as u64 as f32),
            _ => map(frame, of, to, count, |x: i64| x as f32),
        },
        (Kind::Long, Kind::Single) => map(frame, of, to, count, |x| arithmetic::round(into, whole(x)) as f32),
        (Kind::Long, Kind::Double) => map(frame, of, to, count, whole),
        (Kind::Long, Kind::Word) => map(frame, of, to, count, |x| arithmetic::wrap(into, x) as i32),
        (Kind::Long, Kind::Long) => map(frame, of, to, count, |x| arithmetic::wrap(into, x)),
    }
}
}

/// Conversion from one element type to another.
pub(crate) fn cast(types: [ElementType; 2], of: Slot, to: Slot, count: usize, frame: &mut Frame) {
    if types[1] == ElementType::F16 && of.kind == Kind::Single {
        return round_to_halves(of, to, count, frame);
    }
    convert(frame.processor(), types, of, to, count, frame);
}

/// Singles as halves hold them.
fn round_to_halves(of: Slot, to: Slot, count: usize, frame: &mut Frame) {
    let (mut out, processor) = (frame.take::<f32>(to), frame.processor());
    let own = if of.is_uniform { 1 } else { count };
    halves::round(processor, &frame.values::<f32>(of)[..own], &mut out[..own]);
    if of.is_uniform {
        let value = out[0];
        out[..length(to, count)].fill(value);
    }
    frame.put(to, out);
}

/// The second where the first is not 0, the third elsewhere.
pub(crate) fn select(of: [Slot; 3], to: Slot, count: usize, frame: &mut Frame) {
    select_values(frame.processor(), of, to, count, frame);
}
