//! Neighbouring points along which an index is linear.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, Index};

use super::place::Here;

/// An index on so many points from one on: the first value, and how far it moves from each to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) value: i64,
    pub(crate) step: i64,
    pub(crate) length: i64,
}

impl Segment {
    /// A value that stays, for whatever length.
    fn constant(value: i64) -> Self {
        Self { value, step: 0, length: i64::MAX }
    }

    /// Quotients by a positive number.
    fn divided(self, by: i64) -> Self {
        let length = self.length.min(self.until_multiple(by));
        Self { value: self.value.div_euclid(by), step: 0, length }
    }

    /// Remainders of that division.
    fn remainders(self, by: i64) -> Self {
        let length = self.length.min(self.until_multiple(by));
        Self { value: self.value.rem_euclid(by), length, ..self }
    }

    /// Points until the quotient by a number changes.
    fn until_multiple(self, by: i64) -> i64 {
        let rest = self.value.rem_euclid(by);
        match self.step {
            0 => i64::MAX,
            step if step > 0 => (by - rest - 1) / step + 1,
            step => rest / -step + 1,
        }
    }

    /// Values held inside of inclusive bounds.
    fn clamped(self, lower: i64, upper: i64) -> Self {
        let Self { value, step, length } = self;
        // So many points from here on lie on this side of a bound that is so far away.
        let before = |distance: i64, step: i64| if step > 0 { (distance - 1) / step + 1 } else { i64::MAX };
        if value < lower {
            return Self { value: lower, step: 0, length: length.min(before(lower - value, step)) };
        }
        if value > upper {
            return Self { value: upper, step: 0, length: length.min(before(value - upper, -step)) };
        }
        let inside = match step {
            0 => i64::MAX,
            step if step > 0 => (upper - value) / step + 1,
            step => (value - lower) / -step + 1,
        };
        Self { length: length.min(inside), ..self }
    }
}

impl Here<'_> {
    /// An index from a row and a column on, along the row.
    pub(crate) fn segment(&self, index: &Index, row: usize, column: usize, lane: usize) -> Segment {
        let mut total = Segment::constant(index.offset());
        for (atom, coefficient) in index.terms() {
            let of = match atom {
                Atom::Axis(axis) => {
                    let step = i64::from(self.lanes.column == Some(axis.index()));
                    Segment { value: self.axis(*axis, row, column), step, length: i64::MAX }
                }
                Atom::FloorDiv(inner, by) => self.segment(inner, row, column, lane).divided(*by),
                Atom::Mod(inner, by) => self.segment(inner, row, column, lane).remainders(*by),
                Atom::Clamp(inner, lower, upper) => self.segment(inner, row, column, lane).clamped(*lower, *upper),
                Atom::Indirect(place) => {
                    let (value, is_still) = self.place(*place, lane);
                    Segment { value, step: 0, length: if is_still { i64::MAX } else { 1 } }
                }
            };
            total.value = total.value.wrapping_add(of.value.wrapping_mul(*coefficient));
            total.step = total.step.wrapping_add(of.step.wrapping_mul(*coefficient));
            total.length = total.length.min(of.length);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value of a segment is what the function gives of the values that it began with.
    fn check(of: Segment, found: Segment, function: impl Fn(i64) -> i64) {
        assert!(found.length >= 1, "{of:?}: {found:?}");
        for at in 0..found.length.min(100) {
            assert_eq!(found.value + at * found.step, function(of.value + at * of.step), "{of:?}: {found:?} at {at}");
        }
    }

    #[test]
    fn segments_are_linear() {
        for value in -9..9 {
            for step in -4..5 {
                let of = Segment { value, step, length: i64::MAX };
                for by in 1..6 {
                    check(of, of.divided(by), |value| value.div_euclid(by));
                    check(of, of.remainders(by), |value| value.rem_euclid(by));
                    check(of, of.clamped(-by, 3), |value| value.clamp(-by, 3));
                }
            }
        }
    }
}
