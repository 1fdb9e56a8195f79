//! Costs from recorded times, and from scaled estimates where there are none.

use std::collections::HashMap;
use std::sync::Arc;

use warpweave_graph::program::TensorProgram;

use crate::cost::KernelCost;
use crate::cost::PricedKernel;
use crate::cost::estimate::EstimatedCost;
use crate::cost::timings::{Architecture, Timing, Timings};
use crate::template::contraction::shortlist::KnownSums;
use warpweave_plan::body::GroupBody;
use warpweave_plan::body::signature::Signature;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::operand_staging::without_staged_operands;
use warpweave_plan::template::contraction::shape::ContractionShape;

/// Prices a kernel by its recorded time. A kernel without one costs its estimate times the median of measured over
/// estimated: over the records of the same body, else over all records of the architecture.
///
/// Records only price what the estimate would choose from: a file cannot bring in a kernel that the rules leave out.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordedCost {
    estimate: EstimatedCost,
    records: Arc<Records>,
}

#[derive(PartialEq, Debug)]
struct Records {
    bodies: HashMap<Signature, BodyRecords>,
    /// The median ratio of all.
    ratio: f64,
}

#[derive(PartialEq, Debug)]
struct BodyRecords {
    timings: HashMap<ScheduleParams, Timing>,
    ratio: f64,
}

impl RecordedCost {
    /// The records of an architecture, the newest driver's and then the newest compiler's where a kernel has several;
    /// `None` if there are none.
    pub fn new(timings: &Timings, architecture: &Architecture, estimate: EstimatedCost) -> Option<Self> {
        let mut newest: HashMap<Signature, HashMap<ScheduleParams, Timing>> = HashMap::new();
        // Kernels stand in the order of their machines, so what comes later is newer.
        for (kernel, timing) in
            timings.records.iter().filter(|(kernel, _)| kernel.machine.architecture == *architecture)
        {
            newest.entry(kernel.signature.clone()).or_default().insert(kernel.params.clone(), *timing);
        }
        let ratio = median_ratio(newest.values().flat_map(HashMap::values))?;
        let of_body = |timings: HashMap<ScheduleParams, Timing>| {
            let own = median_ratio(timings.values()).unwrap_or(ratio);
            BodyRecords { timings, ratio: own }
        };
        let bodies = newest.into_iter().map(|(signature, timings)| (signature, of_body(timings))).collect();
        Some(Self { estimate, records: Arc::new(Records { bodies, ratio }) })
    }

    /// What estimates kernels without a record.
    pub fn estimate(&self) -> &EstimatedCost {
        &self.estimate
    }

    fn priced(
        &self,
        program: &TensorProgram,
        body: &Arc<GroupBody>,
        known: &KnownSums,
    ) -> impl Iterator<Item = PricedKernel> {
        let own = self.body(body);
        self.estimate.choices_known(program, body, known).into_iter().map(
            move |PricedKernel { kernel, microseconds }| {
                let microseconds = own.microseconds(kernel.params(), || microseconds);
                PricedKernel { kernel, microseconds }
            },
        )
    }

    fn body(&self, body: &GroupBody) -> OwnRecords<'_> {
        OwnRecords { body: self.records.bodies.get(&Signature::of(body)), ratio: self.records.ratio }
    }
}

/// What is known of one body.
struct OwnRecords<'r> {
    body: Option<&'r BodyRecords>,
    ratio: f64,
}

impl OwnRecords<'_> {
    fn timing(&self, params: &ScheduleParams) -> Option<&Timing> {
        self.body?.timings.get(params)
    }

    fn ratio(&self) -> f64 {
        self.body.map_or(self.ratio, |body| body.ratio)
    }

    /// What scales the estimate of an rTask.
    fn task_ratio(&self, params: &ScheduleParams) -> f64 {
        self.timing(params).map_or_else(|| self.ratio(), |timing| timing.measured / timing.estimated)
    }

    fn microseconds(&self, params: &ScheduleParams, estimated: impl FnOnce() -> f64) -> f64 {
        self.timing(params).map_or_else(|| estimated() * self.ratio(), |timing| timing.measured)
    }
}

impl KernelCost for RecordedCost {
    fn microseconds(&self, program: &TensorProgram, kernel: &Kernel) -> f64 {
        self.body(kernel.body()).microseconds(kernel.params(), || self.estimate.microseconds(program, kernel))
    }

    /// The estimate, times measured over estimated of the kernel, or else the ratio that scales its cost.
    fn task_microseconds(&self, kernel: &Kernel) -> f64 {
        self.estimate.task_microseconds(kernel)
            * self.body(without_staged_operands(kernel).body()).task_ratio(kernel.params())
    }

    fn call_microseconds(&self, kernel: &Kernel) -> f64 {
        self.estimate.call_microseconds(kernel) * self.body(kernel.body()).task_ratio(kernel.params())
    }

    fn prologue_microseconds(&self, kernel: &Kernel, sides: &[AxisClass]) -> f64 {
        self.estimate.prologue_microseconds(kernel, sides)
            * self.body(without_staged_operands(kernel).body()).task_ratio(kernel.params())
    }

    fn tags_microseconds(&self, values: f64, tasks: u32) -> f64 {
        self.estimate.tags_microseconds(values, tasks)
    }

    fn polls_microseconds(&self, polls: usize) -> f64 {
        self.estimate.polls_microseconds(polls)
    }

    fn dispatch_microseconds(&self, kernel: &Kernel) -> f64 {
        self.estimate.dispatch_microseconds(kernel)
    }

    fn best(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Option<PricedKernel> {
        self.best_known(program, body, &KnownSums::default())
    }

    fn best_known(&self, program: &TensorProgram, body: &Arc<GroupBody>, known: &KnownSums) -> Option<PricedKernel> {
        PricedKernel::cheapest(self.priced(program, body, known))
    }

    fn variants(&self, program: &TensorProgram, body: &Arc<GroupBody>, shapes: &[ContractionShape]) -> Vec<Kernel> {
        self.estimate.variants(program, body, shapes)
    }

    fn best_within(&self, program: &TensorProgram, body: &Arc<GroupBody>, shared_bytes: usize) -> Option<Kernel> {
        self.estimate.best_within(program, body, shared_bytes)
    }

    fn beside_others(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<Kernel> {
        self.estimate.beside_others(program, body)
    }

    /// All that there is to choose from for a body.
    fn ranked(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<PricedKernel> {
        let mut priced: Vec<PricedKernel> = self.priced(program, body, &KnownSums::default()).collect();
        priced.sort_by(PricedKernel::by_price);
        priced
    }

    fn shared_bytes_per_block(&self) -> usize {
        self.estimate.shared_bytes_per_block()
    }

    fn timing(&self, kernel: &Kernel) -> Option<Timing> {
        self.records.bodies.get(&Signature::of(kernel.body()))?.timings.get(kernel.params()).copied()
    }
}

/// The median of measured over estimated, the smaller of two in the middle; `None` of nothing.
fn median_ratio<'t>(timings: impl Iterator<Item = &'t Timing>) -> Option<f64> {
    let mut ratios: Vec<f64> = timings.map(|timing| timing.measured / timing.estimated).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len().checked_sub(1)? / 2).copied()
}
