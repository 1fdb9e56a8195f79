//! A training step in numbers: by phase and by what its memory holds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::schedule::simulation::plan::simulate_plan;
use warpweave_fusion::schedule::simulation::{Jitter, Simulation};
use warpweave_graph::program::{Names, Phase, TensorProgram};
use warpweave_plan::plan::states::StateMove;
use warpweave_plan::plan::{ExecutionPlan, Instruction, MemoryPlan, ROperator};
use warpweave_runtime::bundle::{BundleTarget, TrainingRecord};

use super::OptimizerTraffic;
use warpweave::training::TrainingMemory;

/// How the times of a step's rTasks are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Known {
    /// They were recorded in one run.
    Recorded,
    /// The cost model gives them.
    Predicted,
}

/// What a phase takes of a step.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PhaseTime {
    /// The phase. An rOperator that does work of several is of the last of them; one that reduces to a gradient and updates by it is
    /// of the backward pass.
    pub phase: Phase,
    /// Seconds in which units run its rTasks, of all units together.
    pub busy_seconds: f64,
    /// Of the busy seconds of all phases.
    pub busy_share: f64,
    /// Of the step's time along the critical path. What the phases leave is spent in exchanges and between rTasks.
    pub critical_share: f64,
    /// Multiply-adds of its sums of products.
    pub multiply_adds: u64,
    /// Those of them that the contraction, attention and weight-stationary templates compute.
    pub product_multiply_adds: u64,
}

/// One run of a step on a target.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepProfile {
    /// What the plan was made for.
    pub target: BundleTarget,
    /// How the times are known.
    pub known: Known,
    /// Which device's constants predicted times follow from, and where these come from; `None` of recorded times.
    #[serde(default)]
    pub priced_for: Option<String>,
    /// Seconds of the run, launch left out.
    pub seconds: f64,
    /// Seconds that moving what states become to where the next run finds it takes behind the run, where that is predicted.
    #[serde(default)]
    pub advance_seconds: f64,
    /// The part of all units' time in which rTasks run.
    pub utilisation: f64,
    /// What the update moves.
    #[serde(default)]
    pub optimizer_traffic: OptimizerTraffic,
    /// All phases, in order.
    pub phases: Vec<PhaseTime>,
    /// What the plan's memory holds, in bytes.
    pub memory: TrainingMemory,
}

/// A training step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrainingStep {
    /// The loss, as it was given.
    pub loss: String,
    /// The optimizer, as it was given.
    pub optimizer: String,
    /// Samples a second.
    pub samples_per_second: f64,
    /// The recorded run on the host, where it was measured there, and the predicted one of each GPU that the bundle is for.
    pub profiles: Vec<StepProfile>,
}

impl StepProfile {
    /// What the cost model says of a plan for a GPU with these constants.
    pub fn predicted(
        target: BundleTarget,
        plan: &ExecutionPlan,
        program: &TensorProgram,
        record: &TrainingRecord,
        prices: &GpuPrices,
    ) -> Self {
        let run = simulate_plan(plan, &prices.sync, Jitter::None);
        let advance_seconds = advance_microseconds(&plan.memory, &prices.sync, &prices.arch) * 1e-6;
        Self {
            advance_seconds,
            priced_for: Some(prices.priced_for()),
            ..Self::of_run(target, Known::Predicted, plan, &run, program, record)
        }
    }

    /// A recorded run on the host, in microseconds.
    pub fn recorded(plan: &ExecutionPlan, run: &Simulation, program: &TensorProgram, record: &TrainingRecord) -> Self {
        Self::of_run(BundleTarget::Host, Known::Recorded, plan, run, program, record)
    }

    fn of_run(
        target: BundleTarget,
        known: Known,
        plan: &ExecutionPlan,
        run: &Simulation,
        program: &TensorProgram,
        record: &TrainingRecord,
    ) -> Self {
        Self {
            target,
            known,
            priced_for: None,
            seconds: run.makespan * 1e-6,
            advance_seconds: 0.0,
            utilisation: run.shares().running,
            optimizer_traffic: OptimizerTraffic::of(plan),
            phases: phases(plan, run, program),
            memory: TrainingMemory::of(&plan.memory, program, record),
        }
    }
}

/// Microseconds in which states are moved: a launch each move, and every byte read and written.
fn advance_microseconds(memory: &MemoryPlan, costs: &SyncCosts, arch: &GpuArch) -> f64 {
    let of_move = |moved: StateMove| {
        costs.stream_launch.value + 2.0 * moved.bytes as f64 / arch.memory_bytes_per_microsecond.value
    };
    // `sum` of no floats is -0.
    memory.state_moves().into_iter().map(of_move).fold(0.0, |all, own| all + own)
}

/// The phase of an rOperator: the last that it does work of. Where an update follows the reduction that gives its gradient, the
/// reduction is what takes time.
fn phase_of(operator: &ROperator, names: &Names) -> Phase {
    let phases: BTreeSet<Phase> =
        operator.origins.iter().filter_map(|&origin| Some(names.origins.get(origin)?.phase)).collect();
    let reduces = operator.kernel.body().reductions().next().is_some();
    match phases.last().copied().unwrap_or_default() {
        Phase::Optimizer if reduces && phases.contains(&Phase::Backward) => Phase::Backward,
        phase => phase,
    }
}

/// What each phase takes of a run whose rOperators are numbered through the segments.
fn phases(plan: &ExecutionPlan, run: &Simulation, program: &TensorProgram) -> Vec<PhaseTime> {
    let operators = plan.operators();
    let (mut busy, mut critical) = ([0.0; Phase::ALL.len()], [0.0; Phase::ALL.len()]);
    let time = |unit: usize, position: usize| {
        let event = run.units[unit][position];
        let Instruction::Run(task) = event.instruction else { return None };
        Some((phase_of(&operators[task.operator], &program.names) as usize, event.end - event.start - event.polled))
    };
    let all = run.units.iter().enumerate().flat_map(|(unit, events)| (0..events.len()).map(move |at| (unit, at)));
    all.filter_map(|(unit, at)| time(unit, at)).for_each(|(phase, time)| busy[phase] += time);
    let path = run.critical_path();
    path.iter().filter_map(|&(unit, at)| time(unit, at)).for_each(|(phase, time)| critical[phase] += time);
    let (mut sums, mut products) = ([0; Phase::ALL.len()], [0; Phase::ALL.len()]);
    for operator in operators.values() {
        let (phase, count) = (phase_of(operator, &program.names) as usize, operator.kernel.body().multiply_adds());
        sums[phase] += count;
        products[phase] += if operator.kernel.rules().is_for_products() { count } else { 0 };
    }
    let part = |time: f64, whole: f64| if whole > 0.0 { time / whole } else { 0.0 };
    let whole: f64 = busy.iter().sum();
    let phase = |phase: Phase| PhaseTime {
        phase,
        busy_seconds: busy[phase as usize] * 1e-6,
        busy_share: part(busy[phase as usize], whole),
        critical_share: part(critical[phase as usize], run.makespan),
        multiply_adds: sums[phase as usize],
        product_multiply_adds: products[phase as usize],
    };
    Phase::ALL.map(phase).to_vec()
}
