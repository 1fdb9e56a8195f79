//! When a program has warmed up.
//!
//! Medians and quartiles are watched, not means: a run that the system interrupts says nothing about the program. How
//! noisy the machine is, the coefficient of variation of the measured runs tells.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What "settled" means: over consecutive windows of runs, neither the median nor the spread moves any more.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StabilityRule {
    /// Consecutive windows that must agree.
    pub windows: usize,
    /// Runs that a window has at least.
    pub least_runs: usize,
    /// Time that the runs of a window take together at least.
    pub least_time: Duration,
    /// By how much the windows' medians may differ, relative to their smallest.
    pub median_tolerance: f64,
    /// By how much the windows' spreads may differ: a spread is the distance of the quartiles, relative to the median.
    pub spread_tolerance: f64,
}

impl StabilityRule {
    /// The rule for a warm-up of about this length.
    pub fn for_warmup(warmup: Duration) -> Self {
        Self { windows: 3, least_runs: 4, least_time: warmup / 6, median_tolerance: 0.02, spread_tolerance: 0.05 }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Window {
    median: f64,
    spread: f64,
}

impl Window {
    fn of(times: &mut [f64]) -> Self {
        times.sort_by(f64::total_cmp);
        let rank = |quarter: usize| times[(times.len() * quarter).div_ceil(4).max(1) - 1];
        let median = rank(2);
        Self { median, spread: if median > 0.0 { (rank(3) - rank(1)) / median } else { 0.0 } }
    }
}

/// Watches run after run.
#[derive(Clone, PartialEq, Debug)]
pub struct StabilityDetector {
    rule: StabilityRule,
    current: Vec<f64>,
    finished: Vec<Window>,
}

impl StabilityDetector {
    /// A detector that has seen nothing.
    pub fn new(rule: StabilityRule) -> Self {
        Self { rule, current: Vec::new(), finished: Vec::new() }
    }

    /// Takes the time of the next run, in seconds.
    pub fn push(&mut self, seconds: f64) {
        self.current.push(seconds);
        let time: f64 = self.current.iter().sum();
        if self.current.len() < self.rule.least_runs.max(1) || time < self.rule.least_time.as_secs_f64() {
            return;
        }
        self.finished.push(Window::of(&mut self.current));
        self.current.clear();
    }

    /// Whether the latest windows agree.
    pub fn is_stable(&self) -> bool {
        let Some(from) = self.finished.len().checked_sub(self.rule.windows.max(2)) else { return false };
        let latest = &self.finished[from..];
        let range = |value: fn(&Window) -> f64| {
            let values = latest.iter().map(value);
            (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
        };
        let (shortest, longest) = range(|window| window.median);
        let (calmest, wildest) = range(|window| window.spread);
        longest - shortest <= self.rule.median_tolerance * shortest && wildest - calmest <= self.rule.spread_tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: impl IntoIterator<Item = f64>) -> Option<usize> {
        let rule = StabilityRule { least_time: Duration::ZERO, ..StabilityRule::for_warmup(Duration::ZERO) };
        let mut detector = StabilityDetector::new(rule);
        times.into_iter().position(|time| {
            detector.push(time);
            detector.is_stable()
        })
    }

    #[test]
    fn constant_times_settle_after_three_windows() {
        assert_eq!(after([1.0; 20]), Some(11));
    }

    #[test]
    fn falling_times_settle_late_and_growing_ones_never() {
        let falling = (0..60).map(|run| 1.0 + 4.0 * 0.7f64.powi(run));
        assert!(after(falling).is_some_and(|run| run > 12));
        assert_eq!(after((0..60).map(|run| 1.1f64.powi(run))), None);
    }

    #[test]
    fn a_calm_window_between_wild_ones_is_not_stable() {
        let times = [1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 1.5, 1.5].into_iter().cycle().take(80);
        assert_eq!(after(times), None);
    }

    #[test]
    fn a_run_that_was_interrupted_does_not_count() {
        let times = (0..60).map(|run| if run % 10 == 7 { 40.0 } else { 1.0 });
        assert_eq!(after(times), Some(11));
    }
}
