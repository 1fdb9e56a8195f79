//! A plan in time as a device ran it, beside what was predicted.

mod parts;
mod recorded;
mod traced;

pub use parts::{PartTimes, UnitTime};

use std::collections::BTreeMap;

use warpweave_codegen::trace::TraceClock;
use warpweave_fusion::schedule::simulation as simulate;
use warpweave_fusion::schedule::simulation::{Jitter, Simulation};
use warpweave_graph::Tensor;
use warpweave_graph::arena::Arena;
use warpweave_plan::plan::OperatorId;
use warpweave_plan::plan::{ExecutionPlan, Instruction};
use warpweave_plan::streams::polls::Polls;
use warpweave_plan::tables::Binding;
use warpweave_runtime::bundle::BundleTarget;
use warpweave_runtime::host::HostSession;
use warpweave_runtime::session::{Device, OpenOptions, Session, SessionError};

use warpweave::Checked;
use warpweave::DeviceArch;
use warpweave::explain::Clock;
use warpweave::prices::{self, GivenPrices};
use warpweave::{CompilerSource, OpenError, Source};

/// A recorded run.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The plan as it was run, after any folding.
    pub plan: ExecutionPlan,
    /// What the recorded times are.
    pub clock: Clock,
    /// The run: microseconds, or steps.
    pub recorded: Simulation,
    /// The same plan on the cost model, in microseconds.
    pub predicted: Simulation,
    /// Which device's constants signals, waits and launches are predicted with, and where they come from.
    pub priced_for: String,
    /// The smallest step between recorded moments, in microseconds or steps; unknown on the host.
    pub step: Option<f64>,
    /// Per unit, the multiprocessor that ran it, where a device has some.
    pub multiprocessors: Vec<u32>,
    /// Per rOperator, its kernel; none on the host, which has no kernels.
    pub bindings: Arena<OperatorId, Binding>,
    /// What the recorded run gave.
    pub outputs: Vec<Tensor>,
    /// What the caller should be told about which plan was recorded.
    pub notes: Vec<String>,
}

/// The rTasks of an rOperator in both runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperatorTimes {
    pub operator: OperatorId,
    pub tasks: usize,
    /// Their predicted microseconds, polls left out.
    pub predicted: f64,
    /// Their recorded microseconds or steps.
    pub recorded: f64,
}

/// Runs `source` on `device` and records when every instruction of its plan begins and ends. Kernels are compiled for it
/// with a trace, whatever a bundle holds. The prediction beside it has the constants that are given, else the device's. Nodes of a graph keep no trace: a model of which predictions make nodes is recorded
/// as one persistent program.
pub fn profile(
    source: &Source,
    device: Device,
    options: &OpenOptions,
    compiler: CompilerSource<'_>,
    inputs: &[Tensor],
    given: &GivenPrices,
) -> Result<Profile, OpenError> {
    let Some(prices) = prices::of_run(device, given)? else {
        let reason = "it follows no plan; use host, emulator, text, machine-code or cuda:N".to_owned();
        return Err(SessionError::Unavailable { device, reason }.into());
    };
    match device {
        Device::Reference | Device::Host => on_host(source, options, inputs, &prices),
        Device::Emulator | Device::Text | Device::MachineCode | Device::Cuda(_) => {
            let profile = traced::profile(TraceClock::Shared, source, device, options, compiler, inputs, &prices)?;
            match profile.step {
                // Shorter rTasks than its steps are not told apart.
                Some(step) if step > COARSE && matches!(device, Device::Cuda(_)) => {
                    let finer =
                        traced::profile(TraceClock::Cycles, source, device, options, compiler, inputs, &prices)?;
                    let note = format!("the device's clock has steps of {step:.2} us: cycles are recorded instead");
                    Ok(Profile { notes: finer.notes.iter().cloned().chain([note]).collect(), ..finer })
                }
                Some(_) | None => Ok(profile),
            }
        }
    }
}

/// [`profile`] by this clock, on a device that runs kernels.
pub fn profile_by(
    clock: TraceClock,
    source: &Source,
    device: Device,
    options: &OpenOptions,
    compiler: CompilerSource<'_>,
    inputs: &[Tensor],
    prices: &DeviceArch,
) -> Result<Profile, OpenError> {
    traced::profile(clock, source, device, options, compiler, inputs, prices)
}

/// Microseconds of a clock's step from which on rTasks are not told apart by it.
const COARSE: f64 = 0.1;

/// The second run: the first one brings code and data near.
fn on_host(
    source: &Source,
    options: &OpenOptions,
    inputs: &[Tensor],
    prices: &DeviceArch,
) -> Result<Profile, OpenError> {
    let Checked { plan, weights, .. } = Checked::of(source, Some(BundleTarget::Host))?;
    let mut session = HostSession::new(&plan.plan, weights, options.threads).map_err(SessionError::from)?;
    let states = source.initial_states(&plan.plan.plan().memory)?;
    session.set_states(&states)?;
    session.run(inputs).map_err(SessionError::from)?;
    let outputs = session.run_traced(inputs, None).map_err(SessionError::from)?;
    let plan = session.plan().plan().clone();
    let recorded = recorded::of_host(plan.persistent(), session.moments());
    Ok(Profile::new(plan, Clock::Measured, recorded, outputs, prices))
}

impl Profile {
    fn new(plan: ExecutionPlan, clock: Clock, recorded: Simulation, outputs: Vec<Tensor>, prices: &DeviceArch) -> Self {
        let polls = Polls::of(plan.persistent(), &plan.memory);
        let predicted = simulate::simulate(plan.persistent(), &polls, &prices.sync(), Jitter::None);
        Self {
            plan,
            clock,
            recorded,
            predicted,
            priced_for: prices.priced_for(),
            step: None,
            multiprocessors: Vec::new(),
            bindings: Arena::new(),
            outputs,
            notes: Vec::new(),
        }
    }

    /// The rOperators, those that take most of the recorded run first.
    pub fn operators(&self) -> Vec<OperatorTimes> {
        let (predicted, recorded) = (times(&self.predicted), times(&self.recorded));
        let all = self.plan.persistent().operators.iter().map(|(operator, planned)| OperatorTimes {
            operator,
            tasks: planned.tasks() as usize,
            predicted: predicted.get(&operator).copied().unwrap_or(0.0),
            recorded: recorded.get(&operator).copied().unwrap_or(0.0),
        });
        let mut all: Vec<OperatorTimes> = all.collect();
        all.sort_by(|a, b| b.recorded.total_cmp(&a.recorded));
        all
    }
}

/// Per rOperator, the sum of its rTasks' times.
fn times(run: &Simulation) -> BTreeMap<OperatorId, f64> {
    let mut times = BTreeMap::new();
    for event in run.units.iter().flatten() {
        if let Instruction::Run(task) = event.instruction {
            *times.entry(task.operator).or_insert(0.0) += event.end - event.start - event.polled;
        }
    }
    times
}
