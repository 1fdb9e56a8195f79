//! What a plan asks of a device, group by group.

use serde::{Deserialize, Serialize};
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::cost::traffic::moved_bytes;
use warpweave_fusion::schedule::simulation::Jitter;
use warpweave_fusion::schedule::simulation::plan::simulate_plan;
use warpweave_graph::ElementType;
use warpweave_graph::program::Names;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::backend::PlanBackend;
use warpweave_plan::template::contraction::unit::ComputeUnit;

use super::identity::Precision;

/// A fusion group of a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupProfile {
    /// Its rOperator in the plan, such as `o7`; empty where a record does not say.
    #[serde(default)]
    pub operator: String,
    /// The nodes of the model that it computes, of many the first ones; empty where nothing is known of them.
    #[serde(default)]
    pub nodes: String,
    /// Scalar operations; a multiplication and an addition are two.
    pub operations: u64,
    /// Bytes of each operand's region once and of each output once.
    pub bytes: u64,
    /// rTasks.
    pub tasks: u32,
    /// Seconds by the cost model; `None` where there is no model of the device.
    pub estimated_seconds: Option<f64>,
}

/// A plan in numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanProfile {
    /// What runs it on a GPU; `None` where it is not run as on a GPU, or the record does not say.
    #[serde(default)]
    pub backend: Option<PlanBackend>,
    /// Launches of a run.
    pub launches: usize,
    /// Virtual execution units: blocks of a launch, or threads.
    pub units: usize,
    /// rTasks of a run.
    pub tasks: usize,
    /// Waits of a run.
    pub waits: usize,
    /// Counters.
    pub counters: usize,
    /// Bytes of inputs, activations and outputs.
    pub arena_bytes: u64,
    /// Bytes of the constants that kernels read.
    pub weights_bytes: u64,
    /// Scalar operations of a run.
    pub operations: u64,
    /// Bytes that groups move: what goes from group to group counts on both sides.
    pub bytes: u64,
    /// The sum of the groups' estimates, as if one ran after the other; `None` where there is no model of the device.
    pub estimated_seconds: Option<f64>,
    /// The simulated run of the plan, launch left out; `None` where there is no model of the device.
    pub predicted_seconds: Option<f64>,
    /// The groups, in a topological order.
    pub groups: Vec<GroupProfile>,
}

/// Which costs a plan was made with.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "one value a command: a box would only hide the constants")]
pub enum Estimator {
    /// A GPU's: rooflines and the cost of a dependent step.
    Gpu(GpuPrices),
    /// The host back end's.
    Host,
    /// None that hold for where the plan is run.
    Unknown,
}

impl Estimator {
    fn seconds(&self, tasks: u32, units: usize, task_microseconds: f64, bytes: u64) -> Option<f64> {
        let waves = (tasks as usize).div_ceil(units.max(1)) as f64;
        let microseconds = match self {
            Self::Gpu(GpuPrices { arch, .. }) => {
                let traffic = bytes as f64 / arch.memory_bytes_per_microsecond.value;
                arch.step_microseconds.value + traffic.max(waves * task_microseconds)
            }
            Self::Host => waves * task_microseconds,
            Self::Unknown => return None,
        };
        Some(microseconds * 1e-6)
    }

    /// What a plan is predicted to take. The simulator knows what exchanges cost on a GPU alone.
    fn predicted_seconds(&self, plan: &ExecutionPlan) -> Option<f64> {
        match self {
            Self::Gpu(prices) => Some(simulate_plan(plan, &prices.sync, Jitter::None).makespan * 1e-6),
            Self::Host | Self::Unknown => None,
        }
    }
}

/// What a device can do at most.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LowerBounds {
    /// Single-precision operations a second, without matrix units.
    pub operations_per_second: f64,
    /// Bytes a second from the device's memory.
    pub bytes_per_second: f64,
}

impl LowerBounds {
    /// The limits of a GPU.
    pub fn of(arch: &GpuArch) -> Self {
        Self {
            operations_per_second: arch.rates(ComputeUnit::Simt, ElementType::F32).operations_per_microsecond * 1e6,
            bytes_per_second: arch.memory_bytes_per_microsecond.value * 1e6,
        }
    }
}

/// Reads a plan's numbers; `names` are those of its program.
pub fn profile(plan: &ExecutionPlan, estimator: &Estimator, names: &Names) -> PlanProfile {
    let memory = &plan.memory;
    let groups: Vec<GroupProfile> = plan
        .operators()
        .iter()
        .map(|(id, operator)| {
            let bytes = moved_bytes(operator.kernel.body(), |tensor| &memory.tensors[tensor].ty);
            let tasks = operator.tasks();
            let estimated_seconds = estimator.seconds(tasks, plan.units(), operator.task_microseconds, bytes);
            GroupProfile {
                operator: id.to_string(),
                nodes: names.label(&operator.origins),
                operations: operator.kernel.body().operations(),
                bytes,
                tasks,
                estimated_seconds,
            }
        })
        .collect();
    PlanProfile {
        backend: None,
        launches: plan.launches(),
        units: plan.units(),
        tasks: plan.tasks(),
        waits: plan.waits(),
        counters: plan.arrivals().len(),
        arena_bytes: memory.arena_bytes,
        weights_bytes: memory.weights_bytes,
        operations: groups.iter().map(|group| group.operations).sum(),
        bytes: groups.iter().map(|group| group.bytes).sum(),
        estimated_seconds: groups.iter().map(|group| group.estimated_seconds).sum(),
        predicted_seconds: estimator.predicted_seconds(plan),
        groups,
    }
}

/// The floating-point type that most bytes of a plan's constants have, or else of its inputs and outputs.
pub(super) fn precision(plan: &ExecutionPlan) -> Option<Precision> {
    let memory = &plan.memory;
    let most = |tensors: &mut dyn Iterator<Item = &warpweave_graph::program::TensorId>| {
        let mut bytes = [0u64; Precision::ALL.len()];
        for tensor in tensors {
            let ty = &memory.tensors[*tensor].ty;
            if let Some(at) = Precision::of(ty.element).and_then(|own| Precision::ALL.iter().position(|p| *p == own)) {
                bytes[at] += ty.bytes() as u64;
            }
        }
        let (at, largest) = bytes.iter().enumerate().max_by_key(|(_, bytes)| **bytes)?;
        (*largest > 0).then(|| Precision::ALL[at])
    };
    most(&mut memory.constants.iter()).or_else(|| most(&mut memory.inputs.iter().chain(&memory.outputs)))
}

impl Precision {
    /// The precision of a program: that of most of its constants' bytes, where a plan tells them, or else of its first
    /// floating-point input or output.
    pub fn of_program<'a>(
        plan: Option<&ExecutionPlan>,
        mut ports: impl Iterator<Item = &'a warpweave_graph::TensorType>,
    ) -> Option<Self> {
        plan.and_then(precision).or_else(|| ports.find_map(|ty| Self::of(ty.element)))
    }
}
