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

use warpweave_fusion::cost::arch::{Constant, GpuArch, Provenance};
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::cost::sync::SyncCosts;

use crate::microbench::{EdgeReadings, FailedEdge};
use warpweave::OpenError;

/// What runs programs and takes their times.
pub trait Stopwatch {
    /// The time of a trial in microseconds.
    fn microseconds(&mut self, trial: &Trial) -> Result<f64, OpenError>;

    /// The times of exchanges and launches, as far as they can be measured.
    fn edges(&mut self) -> EdgeReadings;
}

/// What a probe came to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reading {
    /// The name of the constant.
    pub constant: &'static str,
    /// Microseconds of the small and the large trial; none of a time that is the constant itself.
    pub microseconds: Option<[f64; 2]>,
    pub before: f64,
    /// The constant now; none where the larger trial was not slower, which leaves it as it was.
    pub now: Option<f64>,
}

/// A device's constants, measured as far as probes go.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration<A = GpuPrices> {
    pub arch: A,
    /// The probes, in order.
    pub readings: Vec<Reading>,
    /// Exchanges and launches that could not be measured.
    pub failed: Vec<FailedEdge>,
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
        readings.push(Reading { constant: probe.name(), microseconds: Some(microseconds), before, now });
    }
    let edges = stopwatch.edges();
    let before = prices.sync;
    prices.sync = following(before, &prices.arch).with_edges(&edges.times);
    readings.extend(sync_readings(&before, &prices.sync));
    Ok(Calibration { arch: prices, readings, failed: edges.failed })
}

/// The costs that follow from constants which were measured: a wait that finds its signals there is a load that hits the
/// second-level cache, and units that keep constants share the memory's bandwidth.
fn following(sync: SyncCosts, arch: &GpuArch) -> SyncCosts {
    let (memory, latency) = (arch.memory_bytes_per_microsecond, arch.load_latency_cycles);
    let of = |value: f64, from: Provenance, before: Constant<f64>| match from {
        Provenance::Measured => GpuArch::measured(value),
        Provenance::Datasheet | Provenance::Assumed => before,
    };
    SyncCosts {
        poll: of(latency.value / arch.cycles_per_microsecond.value, latency.provenance, sync.poll),
        keep: of(memory.value / arch.multiprocessors.value as f64, memory.provenance, sync.keep),
        ..sync
    }
}

/// The costs of signals, waits and launches that exchanges and launches give; of an exchange, that between all units.
fn sync_readings(before: &SyncCosts, now: &SyncCosts) -> Vec<Reading> {
    let last = |costs: &SyncCosts| {
        let Constant { value, provenance } = costs.exchange;
        Constant { value: value[value.len() - 1].1, provenance }
    };
    let costs = [
        ("exchange", last(before), last(now)),
        ("drain", before.drain, now.drain),
        ("release", before.release, now.release),
        ("tagged_value", before.tagged_value, now.tagged_value),
        ("stream_launch", before.stream_launch, now.stream_launch),
        ("graph_launch", before.graph_launch, now.graph_launch),
        ("graph_node", before.graph_node, now.graph_node),
    ];
    let reading = |(constant, before, now): (&'static str, Constant<f64>, Constant<f64>)| Reading {
        constant,
        microseconds: None,
        before: before.value,
        now: (now != before).then_some(now.value),
    };
    costs.map(reading).to_vec()
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
