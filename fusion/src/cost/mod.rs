//! What a kernel costs: estimated from the model, later recorded or measured.

pub mod arch;
pub mod arithmetic;
pub mod bound;
pub mod counts;
pub mod cpu;
pub mod edges;
pub mod estimate;
pub mod gpu;
pub mod host;
pub mod instructions;
pub mod recorded;
pub mod sync;
pub mod timings;
pub mod traffic;

use std::fmt;

use warpweave_graph::program::TensorProgram;

use crate::cost::arch::DeviceShare;
use crate::cost::timings::Timing;
use crate::template::candidates::candidates;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::tile::ScheduleParams;

/// A cost model: the time of a group's kernel under a choice of parameters.
pub trait KernelCost: fmt::Debug + Send + Sync {
    /// Microseconds on the whole device, the dependent step included.
    fn microseconds(&self, program: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64;

    /// Microseconds of one rTask that has its unit to itself.
    fn task_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64;

    /// Microseconds that a call takes once where it may run several rTasks one after another. Of these an rTask's own
    /// microseconds hold a [`CALL_STEPS`]th.
    ///
    /// [`CALL_STEPS`]: crate::template::pricing::CALL_STEPS
    fn call_microseconds(&self, _: &GroupBody, _: &ScheduleParams) -> f64 {
        0.0
    }

    /// Of an rTask's microseconds, those in which the first steps of the factors of `sides` arrive. 0 unless the model knows.
    fn prologue_microseconds(&self, _: &GroupBody, _: &ScheduleParams, _sides: &[AxisClass]) -> f64 {
        0.0
    }

    /// Microseconds that the tags of this many values take each of `tasks` rTasks beyond its own time. 0 unless the model
    /// knows.
    fn tags_microseconds(&self, _values: f64, _tasks: u32) -> f64 {
        0.0
    }

    /// Microseconds of so many polls that wait one after another. 0 unless the model knows.
    fn polls_microseconds(&self, _polls: usize) -> f64 {
        0.0
    }

    /// Microseconds that an rTask takes more or less than its price where a stream calls its kernel. 0 unless the model knows.
    fn dispatch_microseconds(&self, _: &GroupBody, _: &ScheduleParams) -> f64 {
        0.0
    }

    /// The cheapest choice for a body and its cost in microseconds; the first of equals. `None` if no kernel takes it: its
    /// staged values fit nowhere.
    fn best(&self, program: &TensorProgram, body: &GroupBody) -> Option<(ScheduleParams, f64)> {
        let priced = candidates(body).into_iter().map(|params| {
            let time = self.microseconds(program, body, &params);
            (params, time)
        });
        priced.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Kernels to choose among where a group shares the device: the fastest on parts of it, contractions in one of
    /// `shapes`. Empty where there is no choice.
    fn variants(&self, _: &TensorProgram, _: &GroupBody, _: &[ContractionShape]) -> Vec<ScheduleParams> {
        Vec::new()
    }

    /// Kernels for a device that runs many other groups beside this one: the fastest on small shares of it, and the one that
    /// takes the least unit-time (units × duration). Empty where there is no choice.
    fn beside_others(&self, _: &TensorProgram, _: &GroupBody) -> Vec<ScheduleParams> {
        Vec::new()
    }

    /// The cheapest choice for a body whose kernel takes at most so many bytes of shared memory; `None` where there is no choice.
    fn best_within(&self, _: &TensorProgram, _: &GroupBody, _shared_bytes: usize) -> Option<ScheduleParams> {
        None
    }

    /// The model of a share of the device; `None` if the model knows only the whole.
    fn on_share(&self, _: DeviceShare) -> Option<Box<dyn KernelCost>> {
        None
    }

    /// What a body may be computed with and its microseconds, cheapest first; the cheapest alone unless the model prices more.
    fn ranked(&self, program: &TensorProgram, body: &GroupBody) -> Vec<(ScheduleParams, f64)> {
        self.best(program, body).into_iter().collect()
    }

    /// Bytes of shared memory that a block of the device has.
    fn shared_bytes_per_block(&self) -> usize;

    /// The recorded time of a kernel, where the model has one.
    fn timing(&self, _: &GroupBody, _: &ScheduleParams) -> Option<Timing> {
        None
    }
}
