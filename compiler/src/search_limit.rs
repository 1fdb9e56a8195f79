//! When a search for a partition ends early: after a time, or on an interrupt.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use warpweave_fusion::partition::search::budget::Budget;
use warpweave_fusion::partition::search::{Partition, SearchReport, partition_within};
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::PreparedProgram;

/// What ends a search before it is done.
#[derive(Clone, Debug, Default)]
pub struct SearchLimit {
    /// The time that each search has.
    pub time: Option<Duration>,
    /// The request to end the search that runs.
    pub interrupt: Interrupt,
}

impl SearchLimit {
    /// Which statements share a kernel, as far as a search came whose budget begins now, and what it did.
    pub fn partition(&self, prepared: &PreparedProgram, options: &PlanOptions) -> (Partition, SearchReport) {
        self.search(|budget| partition_within(prepared, &*options.cost, options.fusion, budget))
    }

    /// Runs a search within a budget that begins now.
    fn search<T>(&self, run: impl FnOnce(Budget<'_>) -> T) -> T {
        let start = Instant::now();
        self.interrupt.0.store(SEARCHING, Ordering::Relaxed);
        let is_spent = || {
            self.interrupt.0.load(Ordering::Relaxed) == REQUESTED
                || self.time.is_some_and(|time| start.elapsed() >= time)
        };
        let found = run(Budget::until(&is_spent));
        self.interrupt.0.store(IDLE, Ordering::Relaxed);
        found
    }
}

const IDLE: u8 = 0;
const SEARCHING: u8 = 1;
const REQUESTED: u8 = 2;

/// Ends a search from another thread; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicU8>);

impl Interrupt {
    /// Asks the search that runs to end with the best that it has found. `false` if none runs, or if it has been asked
    /// already.
    pub fn request(&self) -> bool {
        self.0.compare_exchange(SEARCHING, REQUESTED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_the_search_that_runs_and_no_other() {
        let limit = SearchLimit::default();
        assert!(!limit.interrupt.request());
        limit.search(|budget| {
            assert!(!budget.is_spent());
            assert!(limit.interrupt.clone().request());
            assert!(budget.is_spent());
            assert!(!limit.interrupt.request());
        });
        assert!(!limit.interrupt.request());
        limit.search(|budget| assert!(!budget.is_spent()));
    }

    #[test]
    fn no_time_is_spent_at_once() {
        let limit = SearchLimit { time: Some(Duration::ZERO), ..SearchLimit::default() };
        limit.search(|budget| assert!(budget.is_spent()));
    }
}
