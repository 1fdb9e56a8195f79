//! When units are free: the gaps between what has been placed on them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::schedule::placement::Time;

/// Time in which a unit does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gap {
    start: Time,
    end: Time,
}

/// The gaps of all units. The last of a unit never ends.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Per unit, ascending and apart from one another.
    gaps: Vec<Vec<Gap>>,
    /// Per length that was looked for, what is known of where it fits.
    known: FxHashMap<Time, Soonest>,
}

/// Lower bounds of when units can start what takes one length: gaps only ever become shorter.
#[derive(Clone, Debug)]
struct Soonest {
    /// Of starts from here on.
    from: Time,
    units: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Timeline {
    /// Units with nothing to do.
    pub fn new(units: usize) -> Self {
        Self { gaps: vec![vec![Gap { start: 0, end: Time::MAX }]; units], known: FxHashMap::default() }
    }

    /// The number of units.
    pub fn units(&self) -> usize {
        self.gaps.len()
    }

    /// The earliest start on a unit, not before `from`, of what takes `length`.
    pub fn earliest(&self, unit: usize, from: Time, length: Time) -> Time {
        earliest(&self.gaps[unit], from, length)
    }

    /// The earliest start on any unit, not before `from`, of what takes `length`, and the unit; the first of equals.
    pub fn soonest(&mut self, from: Time, length: Time) -> (Time, usize) {
        let Self { gaps, known } = self;
        let start = |unit: usize| earliest(&gaps[unit], from, length);
        let everywhere = || (0..gaps.len()).map(|unit| Reverse((start(unit), unit))).collect();
        let known = known.entry(length).or_insert_with(|| Soonest { from, units: everywhere() });
        if from < known.from {
            known.units = everywhere();
        }
        known.from = from;
        loop {
            let mut top = known.units.peek_mut().expect("a device has units");
            let Reverse((bound, unit)) = *top;
            let start = start(unit);
            if start == bound {
                return (start, unit);
            }
            *top = Reverse((start, unit));
        }
    }

    /// Takes time of a unit that is free.
    pub fn occupy(&mut self, unit: usize, start: Time, length: Time) {
        if length == 0 {
            return;
        }
        let gaps = &mut self.gaps[unit];
        let at = gaps.partition_point(|gap| gap.end <= start);
        let gap = gaps[at];
        let (before, after) = (Gap { end: start, ..gap }, Gap { start: start + length, ..gap });
        match (before.start < before.end, after.start < after.end) {
            (true, true) => {
                gaps[at] = before;
                gaps.insert(at + 1, after);
            }
            (true, false) => gaps[at] = before,
            (false, true) => gaps[at] = after,
            (false, false) => _ = gaps.remove(at),
        }
    }
}

fn earliest(gaps: &[Gap], from: Time, length: Time) -> Time {
    let first = gaps.partition_point(|gap| gap.end < from + length);
    let mut starts = gaps[first..].iter().map(|gap| (gap.start.max(from), gap.end));
    let fits = starts.find(|(start, end)| start + length <= *end);
    fits.expect("the last gap never ends").0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_gap_that_is_long_enough() {
        let mut timeline = Timeline::new(1);
        timeline.occupy(0, 10, 10);
        timeline.occupy(0, 25, 5);
        let starts = [(0, 10), (0, 11), (12, 5), (12, 6), (22, 3), (23, 3), (40, 9)];
        let found = starts.map(|(from, length)| timeline.earliest(0, from, length));
        assert_eq!(found, [0, 30, 20, 30, 22, 30, 40]);
    }

    #[test]
    fn units_take_turns() {
        let mut timeline = Timeline::new(2);
        timeline.occupy(0, 0, 3);
        let mut next = |from| {
            let (start, unit) = timeline.soonest(from, 2);
            timeline.occupy(unit, start, 2);
            (start, unit)
        };
        let found = [next(0), next(0), next(0), next(9), next(4)];
        assert_eq!(found, [(0, 1), (2, 1), (3, 0), (9, 0), (4, 1)]);
    }
}
