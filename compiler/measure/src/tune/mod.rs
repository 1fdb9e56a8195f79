//! Measuring the kernels that a search chooses from, and recording their times.
//!
//! A group's candidates are measured by successive halving: all of them briefly, the faster half for twice as many runs, and so
//! on until one is left. Every candidate that gives the right values is recorded with the last of its times.

mod device;
mod work;

pub(crate) use device::median;
pub use device::{DeviceMeasure, excess};
pub use work::{Untimed, untimed};

use warpweave_fusion::cost::PricedKernel;
use warpweave_fusion::cost::timings::{Machine, TimedKernel, Timing, Timings};
use warpweave_fusion::partition::search::FusionGroup;
use warpweave_plan::kernel::ScheduleParams;

use warpweave::OpenError;

/// Runs of a candidate in the first round.
pub const FIRST_RUNS: u32 = 8;

/// What running a kernel comes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Its values are right.
    Time {
        /// The median of its runs.
        microseconds: f64,
    },
    /// Its values are wrong.
    Wrong {
        /// The largest error in multiples of what passes.
        excess: f64,
    },
    /// The device takes no such kernel.
    NoKernel {
        /// Why.
        reason: String,
    },
}

/// What runs kernels and takes their times.
pub trait Measure {
    /// Runs a group's kernel, with its parameters, this many times. An error ends the tuning.
    fn measure(&mut self, kernel: &FusionGroup, runs: u32) -> Result<Outcome, OpenError>;
}

/// A kernel that was not recorded.
#[derive(Clone, PartialEq, Debug)]
pub struct Refused {
    pub params: ScheduleParams,
    /// What running it came to; a time only if it is none: not above 0.
    pub outcome: Outcome,
}

/// What tuning did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TuneReport {
    /// Kernels that were recorded.
    pub recorded: usize,
    /// Kernels that were refused.
    pub refused: Vec<Refused>,
    /// Kernels that were left for another time.
    pub left: usize,
}

/// Measures `work` on a machine, group after group, until it is done or `is_spent` says so between two groups. `keep` is given
/// all times after each group; an error of it, or of the measurement, ends the tuning, and what was kept stays.
pub fn tune<E: From<OpenError>>(
    work: &[Untimed],
    machine: &Machine,
    timings: &mut Timings,
    measure: &mut dyn Measure,
    is_spent: &dyn Fn() -> bool,
    keep: &mut dyn FnMut(&Timings) -> Result<(), E>,
) -> Result<TuneReport, E> {
    let mut report = TuneReport::default();
    for untimed in work {
        if is_spent() {
            report.left += untimed.candidates.len();
            continue;
        }
        for (params, timing) in halve(untimed, measure, &mut report)? {
            let (machine, signature) = (machine.clone(), untimed.signature.clone());
            timings.records.insert(TimedKernel { machine, signature, params }, timing);
            report.recorded += 1;
        }
        keep(timings)?;
    }
    Ok(report)
}

/// The times of a group's candidates that can be recorded.
fn halve(
    untimed: &Untimed,
    measure: &mut dyn Measure,
    report: &mut TuneReport,
) -> Result<Vec<(ScheduleParams, Timing)>, OpenError> {
    let mut left = untimed.candidates.clone();
    let mut measured = Vec::with_capacity(left.len());
    let mut runs = FIRST_RUNS;
    while !left.is_empty() {
        let mut timed: Vec<(PricedKernel, f64)> = Vec::with_capacity(left.len());
        for candidate in left {
            let group = FusionGroup { kernel: candidate.kernel.clone(), ..untimed.group.clone() };
            match measure.measure(&group, runs)? {
                Outcome::Time { microseconds } if microseconds.is_finite() && microseconds > 0.0 => {
                    timed.push((candidate, microseconds));
                }
                outcome => report.refused.push(Refused { params: candidate.kernel.params().clone(), outcome }),
            }
        }
        timed.sort_by(|a, b| a.1.total_cmp(&b.1));
        let kept = if timed.len() == 1 { 0 } else { timed.len().div_ceil(2) };
        let timing = |(PricedKernel { kernel, microseconds }, measured): (PricedKernel, f64)| {
            (kernel.params().clone(), Timing { measured, estimated: microseconds })
        };
        measured.extend(timed.drain(kept..).map(timing));
        left = timed.into_iter().map(|(candidate, _)| candidate).collect();
        runs = runs.saturating_mul(2);
    }
    Ok(measured)
}

#[cfg(test)]
mod tests;
