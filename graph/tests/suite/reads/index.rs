//! Simplified indices have the values of what they were made from, and stay in their ranges.

use crate::random::Random;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Range};

const AXES: usize = 3;

/// An index as it was asked for, before any simplification.
enum Plain {
    Constant(i64),
    Axis(usize),
    Add(Box<Plain>, Box<Plain>),
    Times(Box<Plain>, i64),
    FloorDiv(Box<Plain>, i64),
    Modulo(Box<Plain>, i64),
    Clamped(Box<Plain>, i64, i64),
}

impl Plain {
    fn random(random: &mut Random, depth: usize) -> Self {
        let inner = |random: &mut Random| Box::new(Self::random(random, depth - 1));
        match if depth == 0 { random.below(2) } else { random.below(8) } {
            0 => Self::Constant(random.between(-9, 9)),
            1 => Self::Axis(random.below(AXES)),
            2 | 3 => Self::Add(inner(random), inner(random)),
            4 => Self::Times(inner(random), random.between(-4, 12)),
            5 => Self::FloorDiv(inner(random), *random.choose(&[1, 2, 3, 4, 6, 8])),
            6 => Self::Modulo(inner(random), random.between(1, 8)),
            _ => {
                let low = random.between(-5, 5);
                Self::Clamped(inner(random), low, low + random.between(0, 6))
            }
        }
    }

    fn value(&self, axes: &[i64]) -> i64 {
        match self {
            Self::Constant(value) => *value,
            Self::Axis(axis) => axes[*axis],
            Self::Add(left, right) => left.value(axes) + right.value(axes),
            Self::Times(inner, factor) => inner.value(axes) * factor,
            Self::FloorDiv(inner, divisor) => inner.value(axes).div_euclid(*divisor),
            Self::Modulo(inner, divisor) => inner.value(axes).rem_euclid(*divisor),
            Self::Clamped(inner, low, high) => inner.value(axes).clamp(*low, *high),
        }
    }

    fn index(&self, ranges: &impl Fn(AxisId) -> Range) -> Index {
        match self {
            Self::Constant(value) => Index::constant(*value),
            Self::Axis(axis) => Index::axis(AxisId::from_index(*axis)),
            Self::Add(left, right) => left.index(ranges).add(&right.index(ranges)),
            Self::Times(inner, factor) => inner.index(ranges).times(*factor),
            Self::FloorDiv(inner, divisor) => inner.index(ranges).floor_div(*divisor, ranges),
            Self::Modulo(inner, divisor) => inner.index(ranges).modulo(*divisor, ranges),
            Self::Clamped(inner, low, high) => inner.index(ranges).clamped(*low, *high, ranges),
        }
    }
}

fn no_reads(_: warpweave_graph::expr::IndirectIndex) -> i64 {
    unreachable!("these indices read nothing")
}

#[test]
fn simplification_keeps_values_and_ranges() {
    let mut random = Random::new(1);
    for _ in 0..4000 {
        let extents: Vec<i64> = (0..AXES).map(|_| random.between(1, 6)).collect();
        let ranges = |axis: AxisId| Range { minimum: 0, maximum: extents[axis.index()] - 1 };
        let plain = Plain::random(&mut random, 4);
        let index = plain.index(&ranges);
        let range = index.range(&ranges);
        for point in 0..extents.iter().product::<i64>() {
            let axes = [point % extents[0], point / extents[0] % extents[1], point / extents[0] / extents[1]];
            let value = index.evaluate(&|axis| axes[axis.index()], &no_reads);
            assert_eq!(value, plain.value(&axes), "{index} at {axes:?}");
            assert!(range.minimum <= value && value <= range.maximum, "{index} at {axes:?} outside {range:?}");
        }
    }
}

#[test]
fn substitution_keeps_values() {
    let mut random = Random::new(2);
    for _ in 0..2000 {
        let extents: Vec<i64> = (0..AXES).map(|_| random.between(1, 5)).collect();
        let ranges = |axis: AxisId| Range { minimum: 0, maximum: extents[axis.index()] - 1 };
        let outer = Plain::random(&mut random, 3);
        let replaced: Vec<Plain> = (0..AXES).map(|_| Plain::random(&mut random, 2)).collect();
        let indices: Vec<Index> = replaced.iter().map(|plain| plain.index(&ranges)).collect();
        let unbounded = |axis: AxisId| indices[axis.index()].range(&ranges);
        let index = outer.index(&unbounded).substitute(&|axis| indices[axis.index()].clone(), &|read| read, &ranges);
        for point in 0..extents.iter().product::<i64>() {
            let axes = [point % extents[0], point / extents[0] % extents[1], point / extents[0] / extents[1]];
            let inner: Vec<i64> = replaced.iter().map(|plain| plain.value(&axes)).collect();
            assert_eq!(index.evaluate(&|axis| axes[axis.index()], &no_reads), outer.value(&inner), "{index}");
        }
    }
}

#[test]
fn mixed_radix_round_trips_become_affine() {
    let extents = [3i64, 4, 5];
    let ranges = |axis: AxisId| Range { minimum: 0, maximum: extents[axis.index()] - 1 };
    let [a, b, c] = [0, 1, 2].map(|axis| Index::axis(AxisId::from_index(axis)));
    let linear = a.times(20).add(&b.times(5)).add(&c);
    assert_eq!(linear.modulo(5, &ranges), c);
    assert_eq!(linear.floor_div(5, &ranges).modulo(4, &ranges), b);
    assert_eq!(linear.floor_div(20, &ranges), a);
    assert_eq!(linear.floor_div(5, &ranges), a.times(4).add(&b));
}

#[test]
fn the_digits_of_a_number_are_recombined() {
    let ranges = |_| Range { minimum: 0, maximum: 119 };
    let number = Index::axis(AxisId::from_index(0));
    let middle = number.floor_div(5, &ranges).modulo(4, &ranges);
    let digits = [number.floor_div(20, &ranges), middle, number.modulo(5, &ranges)];
    assert_eq!(Index::linear(&digits, &[20, 5, 1], 0), number);
    assert_eq!(Index::linear(&digits, &[60, 15, 3], 7), number.times(3).plus(7));
    assert!(!Index::linear(&digits, &[40, 5, 1], 0).is_affine());
}

#[test]
fn low_parts_leave_divisions() {
    let extents = [16i64, 32, 32];
    let ranges = |axis: AxisId| Range { minimum: 0, maximum: extents[axis.index()] - 1 };
    let [a, b, c] = [0, 1, 2].map(|axis| Index::axis(AxisId::from_index(axis)));
    let linear = a.times(1024).add(&b.times(32)).add(&c);
    assert_eq!(linear.floor_div(4096, &ranges), a.floor_div(4, &ranges));
    let expected = a.modulo(4, &ranges).times(1024).add(&b.times(32)).add(&c);
    assert_eq!(linear.modulo(4096, &ranges), expected);
}

#[test]
fn clamps_that_always_bind_are_constants() {
    let ranges = |_| Range { minimum: 0, maximum: 9 };
    let axis = Index::axis(AxisId::from_index(0));
    assert_eq!(axis.plus(20).clamped(0, 5, &ranges), Index::constant(5));
    assert_eq!(axis.plus(-20).clamped(0, 5, &ranges), Index::constant(0));
    assert_eq!(axis.clamped(0, 9, &ranges), axis);
}
