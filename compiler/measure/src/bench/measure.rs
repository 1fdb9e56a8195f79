//! The measurement itself.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpweave_graph::Tensor;
use warpweave_runtime::session::{CLOCK_RAMP, Session, SessionError};

use super::caches::ProcessorCaches;
use super::identity::Work;
use super::stability::{StabilityDetector, StabilityRule};
use super::statistics::mean_and_variation;

/// However long a run takes, so many are measured at least.
pub const LEAST_RUNS: usize = 10;

/// How long to measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Method {
    pub warmup: Duration,
    /// The warm-up ends after so long, settled or not.
    pub warmup_limit: Duration,
    /// How long the measured runs take together at least.
    pub window: Duration,
    /// What a run is: a training step ends when its weights are those that the next one reads.
    pub work: Work,
}

/// How the warm-up went.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct WarmUp {
    /// Runs.
    pub runs: usize,
    /// Seconds, everything included.
    pub seconds: f64,
    /// Whether latency has settled.
    pub stable: bool,
    /// Coefficient of variation over the whole warm-up.
    pub coefficient_of_variation: f64,
}

/// Times of runs in seconds, in the order of the runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    pub warmup: WarmUp,
    /// By the monotonic clock: from inputs in the host's memory to outputs in the host's memory.
    pub latencies: Vec<f64>,
    /// By the device's events, the program alone; empty where the device measures nothing.
    pub device_times: Vec<f64>,
}

impl Measured {
    /// Per run, what the device's time leaves of the latency: copies of inputs and outputs, launch and wake-up. `None`
    /// where the device measures nothing.
    pub fn transfers(&self) -> Option<Vec<f64>> {
        let complete = !self.device_times.is_empty() && self.device_times.len() == self.latencies.len();
        let pairs = self.latencies.iter().zip(&self.device_times);
        complete.then(|| pairs.map(|(latency, device)| (latency - device).max(0.0)).collect())
    }

    /// Runs a second, by the time that runs take: what lies between them does not count.
    pub fn throughput(&self) -> f64 {
        self.latencies.len() as f64 / self.latencies.iter().sum::<f64>()
    }
}

/// Warms up until latency settles, then measures. The sets of inputs are taken in turn; each is in the program's order
/// and of its types. With `caches`, the processor's caches are emptied before every run, outside the time.
pub fn measure(
    session: &mut dyn Session,
    input_sets: &[Vec<Tensor>],
    method: &Method,
    mut caches: Option<&mut ProcessorCaches>,
) -> Result<Measured, SessionError> {
    let mut turn = input_sets.iter().cycle();
    let mut run = |session: &mut dyn Session| -> Result<f64, SessionError> {
        if let Some(caches) = caches.as_deref_mut() {
            caches.empty();
        }
        let inputs = turn.next().map_or(&[][..], Vec::as_slice);
        let start = Instant::now();
        session.run(inputs)?;
        match method.work {
            Work::Inference => {}
            Work::TrainingStep => session.advance()?,
        }
        // A clock may be too coarse to tell a run from none; rates must stay finite.
        Ok(start.elapsed().max(Duration::from_nanos(1)).as_secs_f64())
    };
    let mut detector = StabilityDetector::new(StabilityRule::for_warmup(method.warmup));
    let (mut times, start) = (Vec::new(), Instant::now());
    loop {
        let seconds = run(session)?;
        if times.is_empty() {
            session.spin(CLOCK_RAMP)?;
        }
        times.push(seconds);
        detector.push(seconds);
        let elapsed = start.elapsed();
        if elapsed >= method.warmup_limit || (elapsed >= method.warmup && detector.is_stable()) {
            break;
        }
    }
    let (_, variation) = mean_and_variation(&times);
    let warmup = WarmUp {
        runs: times.len(),
        seconds: start.elapsed().as_secs_f64(),
        stable: detector.is_stable(),
        coefficient_of_variation: variation,
    };
    let (mut latencies, mut device_times) = (Vec::new(), Vec::new());
    let start = Instant::now();
    while latencies.len() < LEAST_RUNS || start.elapsed() < method.window {
        latencies.push(run(session)?);
        device_times.extend(session.device_time().map(|time| time.as_secs_f64()));
    }
    Ok(Measured { warmup, latencies, device_times })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts its runs and remembers which inputs they had.
    #[derive(Default)]
    struct Recorder {
        seen: Vec<f64>,
        device: Option<Duration>,
        spun: Vec<usize>,
    }

    impl Session for Recorder {
        fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
            self.seen.push(inputs[0].to_f64()[0]);
            std::thread::sleep(Duration::from_micros(300));
            Ok(Vec::new())
        }

        fn spin(&mut self, least: Duration) -> Result<bool, SessionError> {
            assert!(least >= Duration::from_millis(20), "clocks take so long");
            self.spun.push(self.seen.len());
            Ok(true)
        }

        fn device_time(&self) -> Option<Duration> {
            self.device
        }
    }

    fn method(warmup: u64, limit: u64) -> Method {
        let milliseconds = Duration::from_millis;
        Method {
            warmup: milliseconds(warmup),
            warmup_limit: milliseconds(limit),
            window: milliseconds(5),
            work: Work::Inference,
        }
    }

    fn sets() -> Vec<Vec<Tensor>> {
        [0.0f32, 1.0, 2.0].map(|value| vec![Tensor::scalar(value)]).to_vec()
    }

    #[test]
    fn inputs_rotate_and_the_least_runs_are_kept() {
        let mut session = Recorder::default();
        let measured = measure(&mut session, &sets(), &method(0, 0), None).expect("it runs");
        assert_eq!(measured.warmup.runs, 1);
        assert!(!measured.warmup.stable && measured.latencies.len() >= LEAST_RUNS);
        assert!(session.seen.iter().enumerate().all(|(run, value)| *value == (run % 3) as f64));
        assert_eq!(session.spun, [1], "clocks are brought up once, on inputs that are there");
        assert!(measured.device_times.is_empty() && measured.transfers().is_none());
        assert!(measured.throughput() > 0.0);
    }

    #[test]
    fn the_warm_up_ends_at_its_limit() {
        let mut session = Recorder::default();
        let measured = measure(&mut session, &sets(), &method(5, 10), None).expect("it runs");
        assert!(measured.warmup.seconds < 1.0);
        assert!(measured.warmup.seconds >= 0.005);
    }

    #[test]
    fn transfers_are_what_the_device_does_not_count() {
        let mut session = Recorder { device: Some(Duration::from_micros(100)), ..Recorder::default() };
        let measured = measure(&mut session, &sets(), &method(0, 0), None).expect("it runs");
        let transfers = measured.transfers().expect("the device measures");
        assert_eq!(transfers.len(), measured.latencies.len());
        assert!(transfers.iter().all(|time| *time >= 0.0001));
    }
}
