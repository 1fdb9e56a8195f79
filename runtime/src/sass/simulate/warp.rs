//! The state of a warp in time.

use std::collections::VecDeque;

use super::super::control::SCOREBOARDS;
use super::super::trace::Step;
use super::causes::Cause;
use super::issue::{Issue, Kind};

/// A use of a scoreboard.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// When it ends, and what is waited for; [`UNKNOWN`] while a memory instruction waits for the data path.
    pub end: (u64, Cause),
    /// The memory instruction.
    pub request: Option<u64>,
    /// Whether it ends when operands have been read.
    pub reads: bool,
}

/// A time that is not known yet.
pub const UNKNOWN: u64 = u64::MAX;

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
    /// The pending uses of each scoreboard.
    pub pending: [Vec<Use>; SCOREBOARDS],
    /// Memory instructions that have not entered the data path.
    pub unserved: usize,
    /// The kinds of those, in order.
    pub kinds: VecDeque<Kind>,
    /// Memory instructions so far.
    pub requests: u64,
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
            unserved: 0,
            kinds: VecDeque::new(),
            requests: 0,
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
                pending.iter().map(|used| used.end).for_each(&mut later);
            }
        }
        if let Kind::GroupWait { scoreboard, pending } = issue.kind {
            let groups = self.pending.get(scoreboard).map_or(&[][..], |groups| groups);
            groups.iter().rev().skip(pending).map(|used| used.end).for_each(&mut later);
        }
        if matches!(issue.kind, Kind::Fence) && self.unserved > 0 {
            later((UNKNOWN, Cause::Queue));
        }
        latest
    }

    /// Notes that a scoreboard is in use.
    pub fn hold(&mut self, scoreboard: usize, now: u64, used: Use) {
        let pending = &mut self.pending[scoreboard];
        pending.retain(|used| used.end.0 > now);
        pending.push(used);
    }

    /// Notes when a memory instruction ends.
    pub fn served(&mut self, request: u64, done: (u64, Cause), read: u64) {
        self.unserved -= 1;
        for used in self.pending.iter_mut().flatten().filter(|used| used.request == Some(request)) {
            used.end = if used.reads { (read, Cause::Operands) } else { done };
        }
    }
}
