//! Several batch sizes beside one another.

use serde::{Deserialize, Serialize};

use super::peers::PeerComparison;
use super::statistics::Distribution;

/// Where the throughput of the next batch is not larger by this much, the device is saturated.
pub const SATURATION_GAIN: f64 = 0.10;

/// One batch size.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Items of a run.
    pub batch: usize,
    /// From inputs to outputs in the host's memory.
    pub latency: Distribution,
    /// The program alone, where the device measures it.
    pub device_time: Option<Distribution>,
    /// Items a second by the median: the device's, where it measures.
    pub items_per_second: f64,
    /// Bytes of inputs, activations and outputs.
    pub arena_bytes: Option<u64>,
    /// The same batch elsewhere.
    pub peers: Vec<PeerComparison>,
    /// What makes the numbers doubtful.
    pub warnings: Vec<String>,
}

/// Batch sizes in ascending order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sweep {
    pub points: Vec<SweepPoint>,
    /// The smallest batch after which the next gains less than [`SATURATION_GAIN`]; `None` if every step gains more.
    pub saturation_batch: Option<usize>,
}

impl Sweep {
    /// Orders the points and looks for saturation.
    pub fn new(mut points: Vec<SweepPoint>) -> Self {
        points.sort_by_key(|point| point.batch);
        let saturated = points
            .windows(2)
            .find(|pair| pair[1].items_per_second < (1.0 + SATURATION_GAIN) * pair[0].items_per_second);
        let saturation_batch = saturated.map(|pair| pair[0].batch);
        Self { points, saturation_batch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(points: &[(usize, f64)]) -> Sweep {
        let latency = Distribution::of(&[1.0]).expect("there is a time");
        let point = |&(batch, items_per_second)| SweepPoint {
            batch,
            latency,
            device_time: None,
            items_per_second,
            arena_bytes: None,
            peers: Vec::new(),
            warnings: Vec::new(),
        };
        Sweep::new(points.iter().map(point).collect())
    }

    #[test]
    fn saturation_is_where_the_gain_ends() {
        assert_eq!(sweep(&[(16, 30.0), (1, 10.0), (4, 28.0)]).saturation_batch, Some(4));
        assert_eq!(sweep(&[(1, 10.0), (4, 20.0)]).saturation_batch, None);
        assert_eq!(sweep(&[(1, 10.0)]).saturation_batch, None);
        assert_eq!(sweep(&[(1, 10.0), (2, 5.0)]).saturation_batch, Some(1));
    }
}
