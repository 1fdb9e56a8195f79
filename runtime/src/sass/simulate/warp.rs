//! The state of a warp in time.

use super::super::control::SCOREBOARDS;
use super::super::trace::Step;
use super::causes::Cause;
use super::issue::{Issue, Kind};

/// A warp: what it executes, and what it waits for.
pub struct WarpState<'a> {
    /// What it executes.
    pub steps: &'a [Step],
    /// The next step.
    pub next: usize,
    /// The cycle of the last issue.
    pub issued: u64,
    /// The first cycle in which it may issue, and what sets it.
    pub ready: (u64, Cause),
    /// When each pending use of each scoreboard ends, and what is waited for.
    pub pending: [Vec<(u64, Cause)>; SCOREBOARDS],
    /// Whether it waits for the block.
    pub at_barrier: bool,
    /// When the last of its stores is done.
    pub stored: u64,
    /// When the last of its copies since the last group is done.
    pub copied: u64,
}

impl<'a> WarpState<'a> {
    /// A warp at its beginning.
    pub fn new(steps: &'a [Step]) -> Self {
        Self {
            steps,
            next: 0,
            issued: 0,
            ready: (0, Cause::Dependency),
            pending: std::array::from_fn(|_| Vec::new()),
            at_barrier: false,
            stored: 0,
            copied: 0,
        }
    }

    /// Whether it has ended.
    pub fn ended(&self) -> bool {
        self.next >= self.steps.len()
    }

    /// The cycle from which on the next instruction's stall count and scoreboards let it go, and what held it last.
    pub fn released(&self, issue: &Issue) -> (u64, Cause) {
        let mut latest = self.ready;
        let mut later = |end: (u64, Cause)| {
            if end.0 > latest.0 {
                latest = end;
            }
        };
        for (number, pending) in self.pending.iter().enumerate() {
            if issue.wait >> number & 1 == 1 {
                pending.iter().copied().for_each(&mut later);
            }
        }
        if let Kind::GroupWait { scoreboard, pending } = issue.kind {
            let groups = self.pending.get(scoreboard).map_or(&[][..], |groups| groups);
            groups.iter().rev().skip(pending).copied().for_each(&mut later);
        }
        latest
    }

    /// Notes that a scoreboard is in use until a cycle.
    pub fn hold(&mut self, scoreboard: usize, now: u64, end: (u64, Cause)) {
        let pending = &mut self.pending[scoreboard];
        pending.retain(|(until, _)| *until > now);
        pending.push(end);
    }
}
