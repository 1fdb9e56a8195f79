//! Measuring a device's constants: rates with loops of one kind of work, and what plans pay for a load or a step with small
//! programs.
//!
//! Each constant is a slope: the same trial in two sizes, the difference of their work by the difference of their times,
//! so that what a launch costs cancels out.

mod device;
mod probe;
mod processor;
#[cfg(test)]
mod processor_tests;
#[cfg(test)]
mod tests;

pub use device::DeviceStopwatch;
pub use probe::{Probe, Size, Trial};
pub use processor::{
    ProcessorProbe, ProcessorStopwatch, ProcessorTrial, ThreadStopwatch, calibrate_processor, processor_base,
};

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::gpu::GpuPrices;

use crate::open::OpenError;

/// What runs programs and takes their times.
pub trait Stopwatch {
    /// The time of a trial in microseconds.
    fn microseconds(&mut self, trial: &Trial) -> Result<f64, OpenError>;
}

/// What a probe came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// The name of the constant.
    pub constant: &'static str,
    /// Microseconds of the small and the large trial.
    pub microseconds: [f64; 2],
    /// The constant before.
    pub before: f64,
    /// The constant now; none where the larger trial was not slower, which leaves it as it was.
    pub now: Option<f64>,
}

/// A device's constants, measured as far as probes go.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration<A = GpuPrices> {
    /// The constants.
    pub arch: A,
    /// The probes, in order.
    pub readings: Vec<Reading>,
}

/// Replaces the constants of `base` by what `stopwatch` measures.
pub fn calibrate(base: GpuPrices, stopwatch: &mut dyn Stopwatch) -> Result<Calibration, OpenError> {
    let mut prices = base.clone();
    let (base, arch) = (&base.arch, &mut prices.arch);
    let mut readings = Vec::new();
    for probe in Probe::ALL {
        let microseconds = least_times(|size| stopwatch.microseconds(&probe.trial(base, size)))?;
        let work = probe.work(base, Size::Large) - probe.work(base, Size::Small);
        let before = probe.constant(arch).value;
        let now = slope(microseconds).map(|slope| probe.value(arch, work, slope));
        if let Some(now) = now {
            *probe.constant(arch) = GpuArch::measured(now);
        }
        readings.push(Reading { constant: probe.name(), microseconds, before, now });
    }
    Ok(Calibration { arch: prices, readings })
}

/// Most times that a trial in two sizes is repeated.
const MOST_ATTEMPTS: usize = 6;
/// The share of the small trial's time by which the large one is clearly slower.
const CLEAR: f64 = 0.1;

/// The least times of the small and the large trial. Other work on the machine may hide that the large one is slower: both
/// are repeated until it clearly is.
fn least_times(mut time: impl FnMut(Size) -> Result<f64, OpenError>) -> Result<[f64; 2], OpenError> {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..MOST_ATTEMPTS {
        for (least, size) in least.iter_mut().zip([Size::Small, Size::Large]) {
            *least = least.min(time(size)?);
        }
        if slope(least).is_some_and(|slope| slope > CLEAR * least[0]) {
            break;
        }
    }
    Ok(least)
}

/// By how much the large trial was slower than the small one.
fn slope([small, large]: [f64; 2]) -> Option<f64> {
    let slope = large - small;
    (slope.is_finite() && slope > 0.0).then_some(slope)
}
