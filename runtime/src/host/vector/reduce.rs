//! Values combined along reduced axes.

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic;
use warpweave_graph::expr::{BinaryOp, Literal, Reducer};

use super::arithmetic::mathematics::multiply_add;
use super::arithmetic::processor::{Instructions, vectorised};
use super::frame::{Frame, Kind, Number, Slot};
use crate::host::simd::{maximum, minimum};

/// Partial results of a reduction along the lanes, combined one after another in the end.
const PARTS: usize = 32;

/// How values of an element type are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Combination {
    pub(crate) reducer: Reducer,
    pub(crate) element: ElementType,
}

impl Combination {
    /// What changes nothing.
    pub(crate) fn identity(self) -> Literal {
        self.reducer.identity(self.element)
    }

    /// Combines a register with accumulators, lane by lane; the first value replaces them, in sums added to
    /// zero.
    pub(crate) fn accumulate(self, accumulators: Slot, value: Slot, count: usize, is_first: bool, frame: &mut Frame) {
        accumulate(frame.processor(), self, accumulators, value, count, is_first, frame);
    }

    /// Combines a total with the values of a register; floating point is combined in doubles beyond a register.
    pub(crate) fn fold(self, total: &mut Total, value: Slot, count: usize, frame: &Frame) {
        fold(frame.processor(), self, total, value, count, frame);
    }
}

vectorised! {
fn accumulate<I>(processor, combination: Combination, accumulators: Slot, value: Slot, count: usize, is_first: bool, frame: &mut Frame) {
    let Combination { reducer, element } = combination;
    let op = reducer.op();
    let is_signed = element != ElementType::U64;
    match value.kind {
        Kind::Single => match op {
            BinaryOp::Add if is_first => lane_by_lane(accumulators, value, count, frame, |_, x: f32| 0.0 + x),
            _ if is_first => lane_by_lane(accumulators, value, count, frame, |_, x: f32| x),
            BinaryOp::Add => lane_by_lane(accumulators, value, count, frame, |a: f32, x| a + x),
            BinaryOp::Multiply => lane_by_lane(accumulators, value, count, frame, |a: f32, x| a * x),
            BinaryOp::Minimum => lane_by_lane(accumulators, value, count, frame, minimum),
            _ => lane_by_lane(accumulators, value, count, frame, maximum),
        },
        Kind::Double => match op {
            BinaryOp::Add if is_first => lane_by_lane(accumulators, value, count, frame, |_, x: f64| 0.0 + x),
            _ if is_first => lane_by_lane(accumulators, value, count, frame, |_, x: f64| x),
            BinaryOp::Add => lane_by_lane(accumulators, value, count, frame, |a: f64, x| a + x),
            op => lane_by_lane(accumulators, value, count, frame, |a, x| arithmetic::float_binary(op, a, x)),
        },
        Kind::Word => match op {
            _ if is_first => lane_by_lane(accumulators, value, count, frame, |_, x: i32| x),
            BinaryOp::Add if element == ElementType::I32 => {
                lane_by_lane(accumulators, value, count, frame, i32::wrapping_add);
            }
            BinaryOp::Minimum => lane_by_lane(accumulators, value, count, frame, |a: i32, x| a.min(x)),
            BinaryOp::Maximum => lane_by_lane(accumulators, value, count, frame, |a: i32, x| a.max(x)),
            op => lane_by_lane(accumulators, value, count, frame, |a: i32, x: i32| {
                arithmetic::integer_binary(op, element, a.into(), x.into()) as i32
            }),
        },
        Kind::Long => match op {
            _ if is_first => lane_by_lane(accumulators, value, count, frame, |_, x: i64| x),
            BinaryOp::Add if element.bits() == 64 => {
                lane_by_lane(accumulators, value, count, frame, i64::wrapping_add);
            }
            BinaryOp::Minimum if is_signed => lane_by_lane(accumulators, value, count, frame, |a: i64, x| a.min(x)),
            BinaryOp::Maximum if is_signed => lane_by_lane(accumulators, value, count, frame, |a: i64, x| a.max(x)),
            op => lane_by_lane(accumulators, value, count, frame, |a, x| {
                arithmetic::integer_binary(op, element, a, x)
            }),
        },
    }
}
}

vectorised! {
fn fold<I>(processor, combination: Combination, total: &mut Total, value: Slot, count: usize, frame: &Frame) {
    let Combination { reducer, element } = combination;
    let op = reducer.op();
    let add = |total: f64, value: f64| arithmetic::float_binary(op, total, value);
    match value.kind {
        Kind::Single => {
            let values = frame.values::<f32>(value);
            if value.is_uniform {
                for _ in 0..count {
                    total.float = add(total.float, f64::from(values[0]));
                }
                return;
            }
            let found = match op {
                BinaryOp::Add => parts(&values[..count], 0.0, |a, x| a + x),
                BinaryOp::Minimum => parts(&values[..count], f32::INFINITY, minimum),
                BinaryOp::Maximum => parts(&values[..count], f32::NEG_INFINITY, maximum),
                _ => parts(&values[..count], 1.0, |a, x| a * x),
            };
            total.float = add(total.float, f64::from(found));
        }
        Kind::Double => {
            let values = frame.values::<f64>(value);
            let at = |lane: usize| if value.is_uniform { values[0] } else { values[lane] };
            total.float = (0..count).fold(total.float, |total, lane| add(total, at(lane)));
        }
        Kind::Word if !value.is_uniform && matches!(op, BinaryOp::Minimum | BinaryOp::Maximum) => {
            let values = &frame.values::<i32>(value)[..count];
            let found = if op == BinaryOp::Minimum { values.iter().min() } else { values.iter().max() };
            let found = found.map_or(total.integer, |&found| found.into());
            total.integer = arithmetic::integer_binary(op, element, total.integer, found);
        }
        Kind::Word if !value.is_uniform && op == BinaryOp::Add && element == ElementType::I32 => {
            let sum: i64 = frame.values::<i32>(value)[..count].iter().map(|&value| i64::from(value)).sum();
            total.integer = arithmetic::integer_binary(op, element, total.integer, sum);
        }
        Kind::Long if !value.is_uniform && op == BinaryOp::Add && element.bits() == 64 => {
            let values = &frame.values::<i64>(value)[..count];
            total.integer = values.iter().fold(total.integer, |total, &value| total.wrapping_add(value));
        }
        Kind::Word | Kind::Long => {
            let add = |total: i64, lane| arithmetic::integer_binary(op, element, total, frame.integer(value, lane));
            total.integer = (0..count).fold(total.integer, add);
        }
    }
}
}

/// A reduction's value so far.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Total {
    float: f64,
    integer: i64,
}

impl Total {
    /// The value before the first combination.
    pub(crate) fn new(combination: Combination) -> Self {
        let identity = combination.identity();
        Self { float: identity.to_f64(), integer: identity.to_i64() }
    }

    /// Adds the sum of the products of two registers of singles.
    pub(crate) fn add_products(&mut self, factors: [Slot; 2], count: usize, frame: &Frame) {
        add_products(frame.processor(), self, factors, count, frame);
    }

    /// Adds to the value of a sum of floating point.
    pub(crate) fn add(&mut self, sum: f64) {
        self.float += sum;
    }

    /// Sets a register's value at a point.
    pub(crate) fn keep(self, to: Slot, lane: usize, frame: &mut Frame) {
        fn set<T: Number>(value: T, to: Slot, lane: usize, frame: &mut Frame) {
            T::registers_mut(frame)[usize::from(to.number)][lane] = value;
        }
        match to.kind {
            Kind::Single => set(self.float as f32, to, lane, frame),
            Kind::Double => set(self.float, to, lane, frame),
            Kind::Word => set(self.integer as i32, to, lane, frame),
            Kind::Long => set(self.integer, to, lane, frame),
        }
    }
}

#[inline(always)]
fn lane_by_lane<T: Number>(
    accumulators: Slot,
    value: Slot,
    count: usize,
    frame: &mut Frame,
    combine: impl Fn(T, T) -> T,
) {
    let mut out = frame.take::<T>(accumulators);
    let values = frame.values::<T>(value);
    if value.is_uniform {
        let value = values[0];
        out[..count].iter_mut().for_each(|out| *out = combine(*out, value));
    } else {
        out[..count].iter_mut().zip(&values[..count]).for_each(|(out, value)| *out = combine(*out, *value));
    }
    frame.put(accumulators, out);
}

vectorised! {
fn accumulate_singles<I>(processor, accumulators: Slot, factors: [Slot; 2], count: usize, is_first: bool, frame: &mut Frame) {
    let [left, right] = factors;
    let mut out = frame.take::<f32>(accumulators);
    let out_lanes = &mut out[..count];
    if is_first {
        out_lanes.fill(0.0);
    }
    let (a, b) = (frame.values::<f32>(left), frame.values::<f32>(right));
    match (left.is_uniform, right.is_uniform) {
        (true, true) => {
            let product = a[0] * b[0];
            out_lanes.iter_mut().for_each(|out| *out += product);
        }
        (true, false) => scaled::<I>(out_lanes, &b[..count], a[0]),
        (false, true) => scaled::<I>(out_lanes, &a[..count], b[0]),
        (false, false) => {
            for (out, (a, b)) in out_lanes.iter_mut().zip(a[..count].iter().zip(&b[..count])) {
                *out = multiply_add::<I>(*a, *b, *out);
            }
        }
    }
    frame.put(accumulators, out);
}
}

/// Adds the products of two registers of singles to accumulators, lane by lane; the first replace them.
pub(crate) fn accumulate_products(
    accumulators: Slot,
    factors: [Slot; 2],
    count: usize,
    is_first: bool,
    frame: &mut Frame,
) {
    accumulate_singles(frame.processor(), accumulators, factors, count, is_first, frame);
}

#[inline(always)]
fn scaled<I: Instructions>(out: &mut [f32], values: &[f32], factor: f32) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = multiply_add::<I>(*value, factor, *out);
    }
}

#[inline(always)]
fn parts(values: &[f32], identity: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut parts = [identity; PARTS];
    let (whole, rest) = values.as_chunks::<PARTS>();
    for values in whole {
        parts.iter_mut().zip(values).for_each(|(part, value)| *part = combine(*part, *value));
    }
    let total = rest.iter().fold(identity, |total, value| combine(total, *value));
    if whole.is_empty() { total } else { parts.iter().fold(total, |total, part| combine(total, *part)) }
}

#[inline(always)]
fn dot<I: Instructions>(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0f32; PARTS];
    let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<PARTS>(), right.as_chunks::<PARTS>());
    for (left, right) in left.iter().zip(right) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum = multiply_add::<I>(*left, *right, *sum);
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

vectorised! {
fn add_products<I>(processor, total: &mut Total, factors: [Slot; 2], count: usize, frame: &Frame) {
    let [left, right] = factors;
    let (a, b) = (frame.values::<f32>(left), frame.values::<f32>(right));
    let sum = match (left.is_uniform, right.is_uniform) {
        (true, true) => count as f32 * (a[0] * b[0]),
        (true, false) => parts(&b[..count], 0.0, |sum, x| sum + x) * a[0],
        (false, true) => parts(&a[..count], 0.0, |sum, x| sum + x) * b[0],
        (false, false) => dot::<I>(&a[..count], &b[..count]),
    };
    total.float += f64::from(sum);
}
}
