//! How many units are free when. Which ones does not matter: intervals that are never more than the units at once always
//! find units.

use crate::schedule::placement::Time;

/// From a time on, this many units are free, until the next change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Change {
    at: Time,
    free: u32,
}

/// rTasks of one length that start together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Round {
    /// When they start.
    pub start: Time,
    /// How long each takes.
    pub length: Time,
    /// How many there are.
    pub tasks: u32,
}

impl Round {
    /// When they end.
    pub fn end(&self) -> Time {
        self.start + self.length
    }
}

/// The number of free units over time.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Ascending, from time 0 on; in the end all units are free.
    changes: Vec<Change>,
    /// Where a search last ended: the next is for a time close to it.
    near: usize,
}

impl Profile {
    /// Units with nothing to do.
    pub fn new(units: usize) -> Self {
        Self { changes: vec![Change { at: 0, free: units as u32 }], near: 0 }
    }

    /// Places rTasks as soon as units are free for their whole `length`, not before `from`; appends the rounds that this
    /// takes, ascending.
    pub fn place(&mut self, from: Time, length: Time, mut tasks: u32, rounds: &mut Vec<Round>) {
        let mut start = from;
        while tasks > 0 {
            let (fitting, next) = self.fitting(start, length);
            if fitting > 0 {
                let round = Round { start, length, tasks: fitting.min(tasks) };
                self.take(round);
                rounds.push(round);
                tasks -= round.tasks;
            }
            start = next;
        }
    }

    /// How many rTasks of a length may start at a time, and when there may be more.
    fn fitting(&mut self, start: Time, length: Time) -> (u32, Time) {
        let first = self.from(start + 1) - 1;
        let within = self.changes[first..].iter().take_while(|change| change.at < start + length);
        let (fewest, offset) = within.zip(0..).map(|(change, offset)| (change.free, offset)).fold(
            (u32::MAX, 0),
            // The last of equals: no start before it ends allows more.
            |best, other| if other.0 <= best.0 { other } else { best },
        );
        let next = self.changes.get(first + offset + 1).map(|change| change.at);
        // Where some start now, their own units are free again when they end.
        let next = next.filter(|next| fewest == 0 || *next < start + length);
        (fewest, next.unwrap_or(start + length))
    }

    /// Takes the units of a round.
    fn take(&mut self, round: Round) {
        let (first, end) = (self.split(round.start), self.split(round.end()));
        self.changes[first..end].iter_mut().for_each(|change| change.free -= round.tasks);
        self.merge(first, end);
    }

    /// Gives the units of a round back.
    pub fn give_back(&mut self, round: Round) {
        let (first, end) = (self.split(round.start), self.split(round.end()));
        self.changes[first..end].iter_mut().for_each(|change| change.free += round.tasks);
        self.merge(first, end);
    }

    /// Drops changes at the ends of a stretch that have become none, so that a search does not step through them.
    fn merge(&mut self, first: usize, end: usize) {
        for at in [end, first] {
            if at > 0 && self.changes[at].free == self.changes[at - 1].free {
                self.changes.remove(at);
            }
        }
    }

    /// The position of the change at a time, which is made if there is none.
    fn split(&mut self, time: Time) -> usize {
        let at = self.from(time);
        if self.changes.get(at).is_none_or(|change| change.at != time) {
            let free = self.changes[at - 1].free;
            self.changes.insert(at, Change { at: time, free });
        }
        at
    }

    /// The position of the first change from a time on.
    fn from(&mut self, time: Time) -> usize {
        let is_before = |at: usize| self.changes[at].at < time;
        let (mut low, mut high, mut step) = (0, self.changes.len(), 1);
        let mut at = self.near.min(high - 1);
        loop {
            if is_before(at) {
                (low, at) = (at + 1, at + step);
            } else {
                (high, at) = (at, at.saturating_sub(step));
            }
            step *= 2;
            if at < low || at >= high {
                break;
            }
        }
        self.near = low + self.changes[low..high].partition_point(|change| change.at < time);
        self.near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(profile: &mut Profile, from: Time, length: Time, tasks: u32) -> Vec<(Time, u32)> {
        let mut rounds = Vec::new();
        profile.place(from, length, tasks, &mut rounds);
        rounds.into_iter().map(|round| (round.start, round.tasks)).collect()
    }

    #[test]
    fn what_does_not_fit_goes_to_later_rounds() {
        let mut profile = Profile::new(4);
        assert_eq!(placed(&mut profile, 10, 5, 10), [(10, 4), (15, 4), (20, 2)]);
        assert_eq!(placed(&mut profile, 0, 5, 5), [(0, 4), (5, 1)]);
        assert_eq!(placed(&mut profile, 0, 6, 3), [(20, 2), (25, 1)]);
    }

    #[test]
    fn what_is_given_back_is_free_again() {
        let mut profile = Profile::new(4);
        let before = placed(&mut profile, 3, 5, 6);
        let known = profile.clone();
        let mut rounds = Vec::new();
        profile.place(0, 4, 9, &mut rounds);
        rounds.into_iter().for_each(|round| profile.give_back(round));
        assert_eq!((profile.changes, before.len()), (known.changes, 2));
    }
}
