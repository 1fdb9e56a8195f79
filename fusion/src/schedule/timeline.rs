//! When units are free: the gaps between what has been placed on them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::wavefront::Time;

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
}

impl Timeline {
    /// Units with nothing to do.
    pub fn new(units: usize) -> Self {
        Self { gaps: vec![vec![Gap { start: 0, end: Time::MAX }]; units] }
    }

    /// The number of units.
    pub fn units(&self) -> usize {
        self.gaps.len()
    }

    /// The earliest start on a unit, not before `from`, of what takes `length`.
    pub fn earliest(&self, unit: usize, from: Time, length: Time) -> Time {
        let gaps = &self.gaps[unit];
        let first = gaps.partition_point(|gap| gap.end < from + length);
        let mut starts = gaps[first..].iter().map(|gap| (gap.start.max(from), gap.end));
        let fits = starts.find(|(start, end)| start + length <= *end);
        fits.expect("the last gap never ends").0
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

/// The units by when they can start the next of several rTasks of one length, for starts that do not get earlier.
#[derive(Clone, Debug)]
pub struct Soonest {
    length: Time,
    /// No unit can start before the time that it stands here with.
    queue: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Soonest {
    /// All units of a timeline.
    pub fn new(timeline: &Timeline, from: Time, length: Time) -> Self {
        let units = 0..timeline.units();
        Self { length, queue: units.map(|unit| Reverse((timeline.earliest(unit, from, length), unit))).collect() }
    }

    /// The earliest start, not before `from`, and the unit; the first of equals.
    pub fn find(&mut self, timeline: &Timeline, from: Time) -> (Time, usize) {
        loop {
            let mut top = self.queue.peek_mut().expect("a device has units");
            let Reverse((known, unit)) = *top;
            let start = timeline.earliest(unit, from, self.length);
            if start == known {
                return (start, unit);
            }
            *top = Reverse((start, unit));
        }
    }
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
        let mut soonest = Soonest::new(&timeline, 0, 2);
        let mut next = |from| {
            let (start, unit) = soonest.find(&timeline, from);
            timeline.occupy(unit, start, 2);
            (start, unit)
        };
        assert_eq!([next(0), next(0), next(0), next(9)], [(0, 1), (2, 1), (3, 0), (9, 0)]);
    }
}
