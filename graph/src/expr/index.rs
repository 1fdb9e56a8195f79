//! Quasi-affine index expressions, kept in a canonical form.

use serde::{Deserialize, Serialize};

use super::ReadId;
use crate::typed_id;

typed_id!(
    /// An axis of an expression.
    AxisId, "a"
);

/// An inclusive range of integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Range {
    /// The smallest value.
    pub minimum: i64,
    /// The largest value.
    pub maximum: i64,
}

impl Range {
    /// The range of one value.
    pub fn point(value: i64) -> Self {
        Self { minimum: value, maximum: value }
    }

    /// Whether every value lies in `lower … upper − 1`.
    pub fn within(self, lower: i64, upper: i64) -> bool {
        lower <= self.minimum && self.maximum < upper
    }
}

/// What an index is linear in.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Atom {
    Axis(AxisId),
    /// ⌊index / divisor⌋, divisor > 0.
    FloorDiv(Box<Index>, i64),
    /// index mod divisor, in 0 … divisor − 1, divisor > 0.
    Mod(Box<Index>, i64),
    /// index clamped to the inclusive bounds.
    Clamp(Box<Index>, i64, i64),
    /// The place that an integer read of the same expression names.
    Indirect(IndirectIndex),
}

/// A place of a dimension that an integer read names: its value, which counts from the end where it is negative.
///
/// The value is checked wherever the place is used: where it lies outside, the place is the nearest one that there is, and the
/// run fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct IndirectIndex {
    pub read: ReadId,
    /// The extent of the dimension; positive.
    pub extent: i64,
}

impl IndirectIndex {
    /// The place that a value names, if there is one.
    #[inline]
    pub fn place(self, value: i64) -> Option<i64> {
        let place = if value < 0 { value.saturating_add(self.extent) } else { value };
        (0..self.extent).contains(&place).then_some(place)
    }

    /// The place nearest to what a value names.
    #[inline]
    pub fn nearest(self, value: i64) -> i64 {
        self.place(value).unwrap_or(if value < 0 { 0 } else { self.extent - 1 })
    }
}

/// `constant + Σ coefficient · atom`: atoms ascend strictly, no coefficient is 0. Built through its methods, which keep
/// it so.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Index {
    constant: i64,
    terms: Vec<(Atom, i64)>,
}

/// The ranges of axes and of indirect reads, for simplification.
pub trait Ranges {
    /// The values that an atom's leaf may take.
    fn axis(&self, axis: AxisId) -> Range;
}

impl<F: Fn(AxisId) -> Range> Ranges for F {
    fn axis(&self, axis: AxisId) -> Range {
        self(axis)
    }
}

const UNBOUNDED: Range = Range { minimum: i64::MIN / 4, maximum: i64::MAX / 4 };

impl Index {
    pub fn constant(value: i64) -> Self {
        Self { constant: value, terms: Vec::new() }
    }

    pub fn axis(axis: AxisId) -> Self {
        Self::of(Atom::Axis(axis))
    }

    /// The place that an integer read names among `extent`, which is positive.
    pub fn indirect(read: ReadId, extent: i64) -> Self {
        Self::of(Atom::Indirect(IndirectIndex { read, extent }))
    }

    /// The index that is one atom.
    pub fn of(atom: Atom) -> Self {
        Self { constant: 0, terms: vec![(atom, 1)] }
    }

    /// The constant part.
    pub fn offset(&self) -> i64 {
        self.constant
    }

    /// The terms, atoms ascending.
    pub fn terms(&self) -> &[(Atom, i64)] {
        &self.terms
    }

    /// The value, if there are no terms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The axis, if the index is exactly one axis.
    pub fn as_axis(&self) -> Option<AxisId> {
        match (self.constant, self.terms.as_slice()) {
            (0, [(Atom::Axis(axis), 1)]) => Some(*axis),
            _ => None,
        }
    }

    /// The coefficient of an axis as a direct term.
    pub fn coefficient(&self, axis: AxisId) -> i64 {
        self.terms.iter().find(|(atom, _)| *atom == Atom::Axis(axis)).map_or(0, |(_, coefficient)| *coefficient)
    }

    /// The sum.
    pub fn add(&self, other: &Self) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.0.cmp(&b.0),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => break,
            };
            let from_left = (order != std::cmp::Ordering::Greater).then(|| left.next()).flatten();
            let from_right = (order != std::cmp::Ordering::Less).then(|| right.next()).flatten();
            let coefficient = from_left.map_or(0, |term| term.1) + from_right.map_or(0, |term| term.1);
            if let (Some((atom, _)), true) = (from_left.or(from_right), coefficient != 0) {
                terms.push((atom.clone(), coefficient));
            }
        }
        Self { constant: self.constant + other.constant, terms }
    }

    /// The sum with a constant.
    pub fn plus(&self, value: i64) -> Self {
        Self { constant: self.constant + value, terms: self.terms.clone() }
    }

    /// The product with a constant.
    pub fn times(&self, factor: i64) -> Self {
        if factor == 0 {
            return Self::constant(0);
        }
        let terms = self.terms.iter().map(|(atom, coefficient)| (atom.clone(), coefficient * factor)).collect();
        Self { constant: self.constant * factor, terms }
    }

    /// ⌊self / divisor⌋, simplified with the ranges of the axes.
    pub fn floor_div(&self, divisor: i64, ranges: &impl Ranges) -> Self {
        assert!(divisor > 0, "a divisor is positive");
        if divisor == 1 {
            return self.clone();
        }
        let (quotient, rest) = self.split(divisor, ranges);
        quotient.add(&rest.floor_div_rest(divisor, ranges))
    }

    /// self mod divisor, simplified with the ranges of the axes.
    pub fn modulo(&self, divisor: i64, ranges: &impl Ranges) -> Self {
        assert!(divisor > 0, "a divisor is positive");
        let (_, rest) = self.split(divisor, ranges);
        if rest.range(ranges).within(0, divisor) {
            return rest;
        }
        if let Some((high, unit, low)) = rest.separate(divisor, ranges) {
            return high.modulo(divisor / unit, ranges).times(unit).add(&low);
        }
        let quotient = rest.floor_div_rest(divisor, ranges);
        match quotient.as_constant() {
            Some(value) => rest.plus(-value * divisor),
            None => Self::of(Atom::Mod(Box::new(rest), divisor)),
        }
    }

    /// self clamped to the inclusive bounds.
    pub fn clamped(&self, lower: i64, upper: i64, ranges: &impl Ranges) -> Self {
        let range = self.range(ranges);
        if range.within(lower, upper + 1) {
            self.clone()
        } else if range.minimum >= upper {
            Self::constant(upper)
        } else if range.maximum <= lower {
            Self::constant(lower)
        } else {
            Self::of(Atom::Clamp(Box::new(self.clone()), lower, upper))
        }
    }

    /// `self = divisor · quotient + rest`, with as much as is plain to see in the quotient.
    fn split(&self, divisor: i64, ranges: &impl Ranges) -> (Self, Self) {
        if self.range(ranges).within(0, divisor) {
            return (Self::constant(0), self.clone());
        }
        let mut quotient = Self::constant(self.constant.div_euclid(divisor));
        let mut rest = Self::constant(self.constant.rem_euclid(divisor));
        for (atom, coefficient) in &self.terms {
            let term = Self::of(atom.clone());
            quotient = quotient.add(&term.times(coefficient / divisor));
            rest = rest.add(&term.times(coefficient % divisor));
        }
        (quotient, rest)
    }

    /// `self = unit · high + low` where unit > 1 divides `divisor` and low stays in `0 … unit − 1`. `None` if no such
    /// unit is among the coefficients' common divisors with `divisor`, or low is all of self or 0.
    fn separate(&self, divisor: i64, ranges: &impl Ranges) -> Option<(Self, i64, Self)> {
        self.terms.iter().find_map(|(_, coefficient)| {
            let unit = greatest_common_divisor(divisor, *coefficient);
            let mut high = Self::constant(self.constant.div_euclid(unit));
            let mut low = Self::constant(self.constant.rem_euclid(unit));
            for (atom, coefficient) in &self.terms {
                let (part, factor) = match coefficient % unit {
                    0 => (&mut high, coefficient / unit),
                    _ => (&mut low, *coefficient),
                };
                part.terms.push((atom.clone(), factor));
            }
            let useful = unit > 1 && !low.terms.is_empty() && low.range(ranges).within(0, unit);
            useful.then_some((high, unit, low))
        })
    }

    fn floor_div_rest(&self, divisor: i64, ranges: &impl Ranges) -> Self {
        let range = self.range(ranges);
        let (low, high) = (range.minimum.div_euclid(divisor), range.maximum.div_euclid(divisor));
        if low == high {
            return Self::constant(low);
        }
        let common =
            self.terms.iter().fold(divisor, |gcd, (_, coefficient)| greatest_common_divisor(gcd, *coefficient));
        if common > 1 {
            let terms = self.terms.iter().map(|(atom, coefficient)| (atom.clone(), coefficient / common)).collect();
            let reduced = Self { constant: self.constant.div_euclid(common), terms };
            return reduced.floor_div(divisor / common, ranges);
        }
        if let Some((high, unit, _)) = self.separate(divisor, ranges) {
            return high.floor_div(divisor / unit, ranges);
        }
        match (self.constant, self.terms.as_slice()) {
            (0, [(Atom::FloorDiv(inner, first), 1)]) => Self::of(Atom::FloorDiv(inner.clone(), first * divisor)),
            _ => Self::of(Atom::FloorDiv(Box::new(self.clone()), divisor)),
        }
    }

    /// The values that the index takes over the ranges of the axes; exact for affine indices, an enclosure otherwise.
    pub fn range(&self, ranges: &impl Ranges) -> Range {
        let mut total = Range::point(self.constant);
        for (atom, coefficient) in &self.terms {
            let range = atom.range(ranges);
            let (low, high) =
                if *coefficient >= 0 { (range.minimum, range.maximum) } else { (range.maximum, range.minimum) };
            total.minimum = total.minimum.saturating_add(low.saturating_mul(*coefficient)).max(UNBOUNDED.minimum);
            total.maximum = total.maximum.saturating_add(high.saturating_mul(*coefficient)).min(UNBOUNDED.maximum);
        }
        total
    }

    /// Replaces axes and indirect reads, simplifying with the ranges of the axes that come in.
    pub fn substitute(
        &self,
        axis: &impl Fn(AxisId) -> Self,
        indirect: &impl Fn(ReadId) -> ReadId,
        ranges: &impl Ranges,
    ) -> Self {
        let mut result = Self::constant(self.constant);
        for (atom, coefficient) in &self.terms {
            let replaced = match atom {
                Atom::Axis(id) => axis(*id),
                Atom::FloorDiv(inner, divisor) => inner.substitute(axis, indirect, ranges).floor_div(*divisor, ranges),
                Atom::Mod(inner, divisor) => inner.substitute(axis, indirect, ranges).modulo(*divisor, ranges),
                Atom::Clamp(inner, low, high) => inner.substitute(axis, indirect, ranges).clamped(*low, *high, ranges),
                Atom::Indirect(IndirectIndex { read, extent }) => Self::indirect(indirect(*read), *extent),
            };
            result = result.add(&replaced.times(*coefficient));
        }
        result
    }

    /// The value at a point, where `indirect` gives the places that reads name.
    pub fn evaluate(&self, axis: &impl Fn(AxisId) -> i64, indirect: &impl Fn(IndirectIndex) -> i64) -> i64 {
        self.terms.iter().fold(self.constant, |total, (atom, coefficient)| {
            let value = match atom {
                Atom::Axis(id) => axis(*id),
                Atom::FloorDiv(inner, divisor) => inner.evaluate(axis, indirect).div_euclid(*divisor),
                Atom::Mod(inner, divisor) => inner.evaluate(axis, indirect).rem_euclid(*divisor),
                Atom::Clamp(inner, low, high) => inner.evaluate(axis, indirect).clamp(*low, *high),
                Atom::Indirect(place) => indirect(*place),
            };
            total.wrapping_add(value.wrapping_mul(*coefficient))
        })
    }

    /// Calls `visit` with every axis and every indirect read inside.
    pub fn visit(&self, axis: &mut impl FnMut(AxisId), indirect: &mut impl FnMut(ReadId)) {
        for (atom, _) in &self.terms {
            match atom {
                Atom::Axis(id) => axis(*id),
                Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Clamp(inner, _, _) => {
                    inner.visit(axis, indirect);
                }
                Atom::Indirect(place) => indirect(place.read),
            }
        }
    }

    /// The places inside that reads name.
    pub fn indirect_indices(&self) -> Vec<IndirectIndex> {
        let places = self.terms.iter().map(|(atom, _)| match atom {
            Atom::Axis(_) => Vec::new(),
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Clamp(inner, _, _) => inner.indirect_indices(),
            Atom::Indirect(place) => vec![*place],
        });
        places.flatten().collect()
    }

    /// The index with every `d·⌊x / d⌋ + (x mod d)` written as `x`.
    pub fn recombined(mut self) -> Self {
        while let Some((quotient, rest)) = self.division_pair() {
            let (Atom::Mod(inner, _), coefficient) = self.terms[rest].clone() else {
                unreachable!("a division pair ends with a remainder")
            };
            self.terms = self
                .terms
                .into_iter()
                .enumerate()
                .filter(|(at, _)| *at != quotient && *at != rest)
                .map(|(_, term)| term)
                .collect();
            self = self.add(&inner.times(coefficient));
        }
        self
    }

    /// Positions of a quotient term and of the remainder term that completes it.
    fn division_pair(&self) -> Option<(usize, usize)> {
        self.terms.iter().enumerate().find_map(|(rest, (atom, coefficient))| {
            let Atom::Mod(inner, divisor) = atom else { return None };
            let wanted = (inner.quotient(*divisor)?, coefficient.checked_mul(*divisor)?);
            let quotient = self.terms.iter().position(|term| *term == wanted)?;
            Some((quotient, rest))
        })
    }

    /// The quotient by a divisor as terms have it: `⌊⌊x / c⌋ / d⌋` is `⌊x / c·d⌋`; `None` if `c·d` is no such number.
    fn quotient(&self, divisor: i64) -> Option<Atom> {
        match (self.constant, self.terms.as_slice()) {
            (0, [(Atom::FloorDiv(inner, own), 1)]) => Some(Atom::FloorDiv(inner.clone(), own.checked_mul(divisor)?)),
            _ => Some(Atom::FloorDiv(Box::new(self.clone()), divisor)),
        }
    }

    /// The number of divisions and remainders inside.
    pub fn divisions(&self) -> usize {
        let inside = |atom: &Atom| match atom {
            Atom::Axis(_) | Atom::Indirect(_) => 0,
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) => 1 + inner.divisions(),
            Atom::Clamp(inner, _, _) => inner.divisions(),
        };
        self.terms.iter().map(|(atom, _)| inside(atom)).sum()
    }

    /// `offset + Σ stride · index`: the element that an index of each dimension names.
    pub fn linear(index: &[Self], strides: &[usize], offset: usize) -> Self {
        let start = Self::constant(offset as i64);
        let sum = index.iter().zip(strides).fold(start, |sum, (index, &stride)| sum.add(&index.times(stride as i64)));
        sum.recombined()
    }

    /// Whether no part of the index is read from a tensor.
    pub fn is_free_of_reads(&self) -> bool {
        let mut free = true;
        self.visit(&mut |_| {}, &mut |_| free = false);
        free
    }

    /// Whether the index is `constant + Σ coefficient · axis`.
    pub fn is_affine(&self) -> bool {
        self.terms.iter().all(|(atom, _)| matches!(atom, Atom::Axis(_)))
    }
}

impl Atom {
    fn range(&self, ranges: &impl Ranges) -> Range {
        match self {
            Self::Axis(axis) => ranges.axis(*axis),
            Self::FloorDiv(inner, divisor) => {
                let range = inner.range(ranges);
                Range { minimum: range.minimum.div_euclid(*divisor), maximum: range.maximum.div_euclid(*divisor) }
            }
            Self::Mod(inner, divisor) => {
                let range = inner.range(ranges);
                if range.minimum.div_euclid(*divisor) == range.maximum.div_euclid(*divisor) {
                    let (minimum, maximum) = (range.minimum.rem_euclid(*divisor), range.maximum.rem_euclid(*divisor));
                    Range { minimum, maximum }
                } else {
                    Range { minimum: 0, maximum: divisor - 1 }
                }
            }
            Self::Clamp(inner, low, high) => {
                let range = inner.range(ranges);
                Range { minimum: range.minimum.clamp(*low, *high), maximum: range.maximum.clamp(*low, *high) }
            }
            Self::Indirect(place) => Range { minimum: 0, maximum: place.extent - 1 },
        }
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `lower ≤ index < upper`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Condition {
    /// What is bounded.
    pub index: Index,
    /// Inclusive.
    pub lower: i64,
    /// Exclusive.
    pub upper: i64,
}

/// A conjunction of conditions, sorted; the empty one always holds.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct Guard(Vec<Condition>);

impl Guard {
    /// The guard that always holds.
    pub fn always() -> Self {
        Self::default()
    }

    pub fn conditions(&self) -> &[Condition] {
        &self.0
    }

    /// Whether the guard has no conditions.
    pub fn is_always(&self) -> bool {
        self.0.is_empty()
    }

    /// This and `condition`; a condition that the ranges imply is left out.
    pub fn and(mut self, condition: Condition, ranges: &impl Ranges) -> Self {
        if !condition.index.range(ranges).within(condition.lower, condition.upper) && !self.0.contains(&condition) {
            self.0.push(condition);
            self.0.sort();
        }
        self
    }
}

impl Index {
    /// The index with these terms; `None` unless atoms ascend strictly and no coefficient is 0.
    pub(super) fn from_terms(constant: i64, terms: Vec<(Atom, i64)>) -> Option<Self> {
        let ascend = terms.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let proper = ascend && terms.iter().all(|(_, coefficient)| *coefficient != 0);
        proper.then_some(Self { constant, terms })
    }
}

impl Guard {
    /// The guard with these conditions; `None` unless they ascend strictly.
    pub(super) fn from_conditions(conditions: Vec<Condition>) -> Option<Self> {
        conditions.windows(2).all(|pair| pair[0] < pair[1]).then_some(Self(conditions))
    }
}
