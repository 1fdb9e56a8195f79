//! When a program has warmed up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::statistics::mean_and_variation;

/// What "settled" means: over consecutive windows of runs, neither the mean time nor its spread moves any more.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StabilityRule {
    /// Consecutive windows that must agree.
    pub windows: usize,
    /// Runs that a window has at least.
    pub least_runs: usize,
    /// Time that the runs of a window take together at least.
    pub least_time: Duration,
    /// By how much the windows' means may differ, relative to their smallest.
    pub mean_tolerance: f64,
    /// By how much the windows' coefficients of variation may differ.
    pub variation_tolerance: f64,
}

impl StabilityRule {
    /// The rule for a warm-up of about this length.
    pub fn for_warmup(warmup: Duration) -> Self {
        Self { windows: 3, least_runs: 3, least_time: warmup / 6, mean_tolerance: 0.02, variation_tolerance: 0.05 }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Window {
    mean: f64,
    variation: f64,
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
        let (mean, variation) = mean_and_variation(&self.current);
        self.finished.push(Window { mean, variation });
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
        let (shortest, longest) = range(|window| window.mean);
        let (calmest, wildest) = range(|window| window.variation);
        longest - shortest <= self.rule.mean_tolerance * shortest && wildest - calmest <= self.rule.variation_tolerance
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
        assert_eq!(after([1.0; 20]), Some(8));
    }

    #[test]
    fn falling_times_settle_late_and_growing_ones_never() {
        let falling = (0..60).map(|run| 1.0 + 4.0 * 0.7f64.powi(run));
        assert!(after(falling).is_some_and(|run| run > 12));
        assert_eq!(after((0..60).map(|run| 1.1f64.powi(run))), None);
    }

    #[test]
    fn a_calm_window_between_wild_ones_is_not_stable() {
        let times = [1.0, 1.0, 1.0, 0.5, 1.5, 1.0].into_iter().cycle().take(60);
        assert_eq!(after(times), None);
    }
}
