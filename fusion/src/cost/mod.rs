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
use std::sync::Arc;

use warpweave_graph::program::TensorProgram;

use crate::cost::arch::DeviceShare;
use crate::cost::timings::Timing;
use crate::template::candidates::candidates;
use crate::template::contraction::shortlist::KnownSums;
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::shape::ContractionShape;

/// A kernel with its cost.
#[derive(Clone, PartialEq, Debug)]
pub struct PricedKernel {
    pub kernel: Kernel,
    /// Microseconds on the whole device, the dependent step included.
    pub microseconds: f64,
}

impl PricedKernel {
    /// The first of the cheapest.
    pub fn cheapest(kernels: impl IntoIterator<Item = Self>) -> Option<Self> {
        kernels.into_iter().min_by(Self::by_price)
    }

    /// The cheaper one first.
    pub fn by_price(a: &Self, b: &Self) -> std::cmp::Ordering {
        a.microseconds.total_cmp(&b.microseconds)
    }
}

/// A cost model: the time of a group's kernel under a choice of parameters.
pub trait KernelCost: fmt::Debug + Send + Sync {
    /// Microseconds on the whole device, the dependent step included.
    fn microseconds(&self, program: &TensorProgram, kernel: &Kernel) -> f64;

    /// Microseconds of one rTask that has its unit to itself.
    fn task_microseconds(&self, kernel: &Kernel) -> f64;

    /// Microseconds that a call takes once where it may run several rTasks one after another. Of these an rTask's own
    /// microseconds hold a [`CALL_STEPS`]th.
    ///
    /// [`CALL_STEPS`]: crate::template::pricing::CALL_STEPS
    fn call_microseconds(&self, _: &Kernel) -> f64 {
        0.0
    }

    /// Of an rTask's microseconds, those in which the first steps of the factors of `sides` arrive. 0 unless the model knows.
    fn prologue_microseconds(&self, _: &Kernel, _sides: &[AxisClass]) -> f64 {
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
    fn dispatch_microseconds(&self, _: &Kernel) -> f64 {
        0.0
    }

    /// The cheapest kernel of a body; the first of equals. `None` if no kernel takes it: its
    /// staged values fit nowhere.
    fn best(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Option<PricedKernel> {
        PricedKernel::cheapest(candidates(body).into_iter().map(|kernel| self.price(program, kernel)))
    }

    /// [`Self::best`] in a search that has found out something before. The result does not depend on what is known.
    fn best_known(&self, program: &TensorProgram, body: &Arc<GroupBody>, _: &KnownSums) -> Option<PricedKernel> {
        self.best(program, body)
    }

    /// A kernel with its microseconds on the whole device.
    fn price(&self, program: &TensorProgram, kernel: Kernel) -> PricedKernel {
        let microseconds = self.microseconds(program, &kernel);
        PricedKernel { kernel, microseconds }
    }

    /// Kernels to choose among where a group shares the device: the fastest on parts of it, contractions in one of
    /// `shapes`. Empty where there is no choice.
    fn variants(&self, _: &TensorProgram, _: &Arc<GroupBody>, _: &[ContractionShape]) -> Vec<Kernel> {
        Vec::new()
    }

    /// Kernels for a device that runs many other groups beside this one: the fastest on small shares of it, and the one that
    /// takes the least unit-time (units × duration). Empty where there is no choice.
    fn beside_others(&self, _: &TensorProgram, _: &Arc<GroupBody>) -> Vec<Kernel> {
        Vec::new()
    }

    /// The cheapest choice for a body whose kernel takes at most so many bytes of shared memory; `None` where there is no choice.
    fn best_within(&self, _: &TensorProgram, _: &Arc<GroupBody>, _shared_bytes: usize) -> Option<Kernel> {
        None
    }

    /// The model of a share of the device; `None` if the model knows only the whole.
    fn on_share(&self, _: DeviceShare) -> Option<Box<dyn KernelCost>> {
        None
    }

    /// The kernels of a body, cheapest first; the cheapest alone unless the model prices more.
    fn ranked(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<PricedKernel> {
        self.best(program, body).into_iter().collect()
    }

    /// Bytes of shared memory that a block of the device has.
    fn shared_bytes_per_block(&self) -> usize;

    /// The recorded time of a kernel, where the model has one.
    fn timing(&self, _: &Kernel) -> Option<Timing> {
        None
    }
}
