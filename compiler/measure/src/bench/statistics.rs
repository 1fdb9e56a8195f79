//! Distributions of times.

use serde::{Deserialize, Serialize};

/// Above this coefficient of variation a measurement is called noisy.
pub const NOISY_VARIATION: f64 = 0.025;

/// What times are given in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TimeUnit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
}

/// Times of many runs. Percentiles are nearest ranks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Distribution {
    /// What the times are given in.
    pub unit: TimeUnit,
    /// Number of runs.
    pub count: usize,
    /// Shortest time.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest time.
    pub max: f64,
    /// Standard deviation by mean; 0 where the mean is 0.
    pub coefficient_of_variation: f64,
}

impl Distribution {
    /// The distribution of times in seconds; `None` if there are none or one of them is no finite number.
    pub fn of(times: &[f64]) -> Option<Self> {
        if times.is_empty() || times.iter().any(|time| !time.is_finite()) {
            return None;
        }
        let mut times = times.to_vec();
        times.sort_by(f64::total_cmp);
        let count = times.len();
        let rank = |percent: usize| times[(count * percent).div_ceil(100).max(1) - 1];
        let (mean, variation) = mean_and_variation(&times);
        Some(Self {
            unit: TimeUnit::Seconds,
            count,
            min: times[0],
            mean,
            p50: rank(50),
            p90: rank(90),
            p95: rank(95),
            p99: rank(99),
            max: times[count - 1],
            coefficient_of_variation: variation,
        })
    }

    /// Whether runs differ so much that a mean says little.
    pub fn is_noisy(&self) -> bool {
        self.coefficient_of_variation > NOISY_VARIATION
    }
}

/// Mean and coefficient of variation of at least one value.
pub(super) fn mean_and_variation(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, if mean == 0.0 { 0.0 } else { variance.sqrt() / mean.abs() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let times: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found = Distribution::of(&times).expect("there are times");
        assert_eq!(
            (found.min, found.p50, found.p90, found.p95, found.p99, found.max),
            (1., 100., 180., 190., 198., 200.)
        );
        assert_eq!(found.mean, 100.5);
        assert!(found.is_noisy());
        let one = Distribution::of(&[3.0]).expect("there is a time");
        assert_eq!((one.min, one.p99, one.coefficient_of_variation), (3.0, 3.0, 0.0));
    }

    #[test]
    fn nothing_has_no_distribution() {
        assert_eq!(Distribution::of(&[]), None);
        assert_eq!(Distribution::of(&[1.0, f64::NAN]), None);
        let zeros = Distribution::of(&[0.0, 0.0]).expect("zero is a time");
        assert_eq!(zeros.coefficient_of_variation, 0.0);
    }
}
