//! From a tensor program to a verified plan and its persistent program.

use std::sync::Arc;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::lower::error::LowerError;
use warpweave_codegen::lower::{LoweredProgram, lower};
use warpweave_codegen::verify::{Violation as KernelViolation, verify};
use warpweave_fusion::cost::KernelCost;
use warpweave_fusion::cost::cpu::CpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::cost::host::HostCost;
use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::partition::search::{FusionLevel, Partition, SearchReport, partition_within};
use warpweave_fusion::schedule::choice::limits;
use warpweave_fusion::schedule::choice::lower_bounds::LowerBounds;
use warpweave_fusion::schedule::choice::plan_with;
use warpweave_fusion::schedule::options::{KernelChoice, PlanOptions, Planned};
use warpweave_fusion::schedule::policy::SyncPolicy;
use warpweave_graph::TensorProgram;
use warpweave_graph::arena::Arena;
use warpweave_graph::legible::legible;
use warpweave_graph::pipeline::{self, InvalidPass, Machine, Selection};
use warpweave_graph::program::TensorId;
use warpweave_graph::program::layout::layouts;
use warpweave_graph::views::Layout;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::verify::Verified;
use warpweave_plan::verify::violation::Violation;
use warpweave_runtime::session::DEFAULT_KERNEL_TARGET;

use crate::prices;
use crate::search_limit::SearchLimit;

/// What a compilation decides by.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Virtual execution units to plan for.
    pub units: usize,
    /// How far operators are fused.
    pub fusion: FusionLevel,
    /// What kernels cost.
    pub cost: Arc<dyn KernelCost>,
    /// What waiting costs.
    pub waiting: SyncCosts,
    /// How units wait and which order they follow; what is predicted to be fastest if none is given.
    pub sync: Option<SyncPolicy>,
}

/// Virtual execution units of plans for the host; they are folded onto the threads that there are.
pub const HOST_UNITS: usize = 16;

/// Threads that tiles for the host are chosen for; more share a group's rTasks less evenly, fewer take several each.
const HOST_THREADS: usize = 4;

impl CompileOptions {
    /// For a GPU: a unit a multiprocessor, fusion through shared memory too.
    pub fn gpu(prices: &GpuPrices) -> Self {
        let (units, cost) = (prices.arch.multiprocessors.value, Arc::new(EstimatedCost { arch: prices.arch }));
        Self { units, fusion: FusionLevel::Full, cost, waiting: prices.sync, sync: None }
    }

    /// How plans are made: for the units, with the shared memory of the device that costs are of.
    pub fn plan_options(&self) -> PlanOptions {
        let shared_bytes = self.cost.shared_bytes_per_block();
        let (costs, sync) = (self.waiting, self.sync);
        let (kernels, fusion) = (KernelChoice::Interplay, self.fusion);
        PlanOptions { shared_bytes, costs, sync, kernels, fusion, ..PlanOptions::new(self.units) }
    }

    /// For the host back end, whatever processor runs it.
    pub fn host() -> Self {
        Self::processor(prices::of_processor())
    }

    /// For the host back end: in program order, so that what a thread reads again soon is still in its caches.
    pub fn processor(arch: CpuArch) -> Self {
        let (fusion, cost) = (FusionLevel::Register, Arc::new(HostCost { arch, threads: HOST_THREADS }));
        let waiting = SyncCosts::of_processor(&arch);
        Self { units: HOST_UNITS, fusion, cost, waiting, sync: Some(SyncPolicy::IN_ORDER) }
    }
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self::gpu(&prices::of_target(DEFAULT_KERNEL_TARGET))
    }
}

/// Everything that compilation makes before a target's compiler runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Compiled {
    /// The program that was scheduled, views inlined and concats placed.
    pub program: TensorProgram,
    /// Which statements share a kernel.
    pub partition: Partition,
    /// The plan, verified.
    pub plan: Verified,
    /// The kernels, the entry, and the operands.
    pub lowered: LoweredProgram,
}

/// Why a program cannot be compiled.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum CompileError {
    /// A group has no kernel.
    #[error(transparent)]
    Lower(#[from] WithoutKernel),
    /// A pass is wrong: an error of warpweave, found before anything was planned.
    #[error(transparent)]
    Pass(#[from] InvalidPass),
    /// The schedule is wrong: an error of warpweave, found before anything was emitted.
    #[error("the plan does not verify: {}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Plan(Vec<Violation>),
    /// The kernels are wrong: an error of warpweave, found before anything was printed.
    #[error("the kernels do not verify: {}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Kernels(Vec<KernelViolation>),
}

/// A part of a program that has no kernel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{error}, in {place}")]
pub struct WithoutKernel {
    /// Why there is none.
    pub error: LowerError,
    /// The nodes of the model that the kernel would compute, or the tensors of the program.
    pub place: String,
}

impl WithoutKernel {
    fn new(error: LowerError, plan: &ExecutionPlan, program: &TensorProgram) -> Self {
        let outputs = plan.operators()[error.operator()].kernel.body().outputs.clone();
        let known = outputs.iter().filter(|tensor| program.tensors.get(**tensor).is_some());
        let shown = |&tensor: &TensorId| {
            let nodes = program.producer(tensor).map(|statement| program.names.nodes(&program.statements[statement]));
            nodes.filter(|nodes| !nodes.is_empty()).unwrap_or_else(|| vec![program.shown(tensor)])
        };
        let place: Vec<String> = known.flat_map(shown).collect();
        Self { place: legible(&place.join(", ")).into_owned(), error }
    }
}

/// A program whose views are inlined and concats placed: what is partitioned, for all targets of one kind of machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    /// The program.
    pub program: TensorProgram,
    /// Where each tensor lives in its buffer.
    pub layouts: Arena<TensorId, Layout>,
    invalid: Option<InvalidPass>,
}

impl Prepared {
    /// Rewrites a program for GPUs.
    pub fn new(program: &TensorProgram) -> Self {
        Self::with(program, &Selection::default(), Machine::Gpu)
    }

    /// The program for a machine after chosen passes. It is verified after each; [`Prepared::verify`] tells of a pass that fails there.
    pub fn with(program: &TensorProgram, passes: &Selection, machine: Machine) -> Self {
        let (program, invalid) = match pipeline::rewrite(program, passes, machine) {
            Ok(program) => (program, None),
            Err(invalid) => (program.clone(), Some(invalid)),
        };
        let layouts = layouts(&program);
        Self { program, layouts, invalid }
    }

    /// Whether every pass has left a valid program.
    pub fn verify(&self) -> Result<(), CompileError> {
        match &self.invalid {
            Some(invalid) => Err(invalid.clone().into()),
            None => Ok(()),
        }
    }

    /// Which statements share a kernel, and the plan, verified.
    pub fn schedule(&self, options: &CompileOptions) -> Result<(Partition, Verified), CompileError> {
        let partition = self.partition(options);
        let plan = self.verified(&partition, options)?;
        Ok((partition, plan))
    }

    /// The plan of a partition, verified.
    pub fn verified(&self, partition: &Partition, options: &CompileOptions) -> Result<Verified, CompileError> {
        let planned = self.plan(partition, options, &options.plan_options());
        warpweave_plan::verify::verify(planned.plan).map_err(CompileError::Plan)
    }

    /// Which statements share a kernel.
    pub fn partition(&self, options: &CompileOptions) -> Partition {
        self.partition_within(options, &SearchLimit::default()).0
    }

    /// Which statements share a kernel, as far as the search came, and what it did.
    pub fn partition_within(&self, options: &CompileOptions, limit: &SearchLimit) -> (Partition, SearchReport) {
        let (program, layouts) = (&self.program, &self.layouts);
        limit.search(|budget| partition_within(program, layouts, &*options.cost, options.fusion, budget))
    }

    /// The plan of a partition, not verified.
    pub fn plan(&self, partition: &Partition, options: &CompileOptions, plan: &PlanOptions) -> Planned {
        plan_with(&self.program, &self.layouts, partition, &*options.cost, plan)
    }

    /// What plans of a partition are held against.
    pub fn limits(&self, partition: &Partition, options: &CompileOptions, plan: &PlanOptions) -> LowerBounds {
        limits(&self.program, &self.layouts, partition, &*options.cost, plan)
    }
}

/// Partitions, schedules, verifies and lowers a program.
pub fn compile(program: &TensorProgram, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let prepared = Prepared::new(program);
    prepared.verify()?;
    let (partition, plan) = prepared.schedule(options)?;
    let lowered = kernels(plan.plan(), &prepared.program)?;
    Ok(Compiled { program: prepared.program, partition, plan, lowered })
}

/// The kernels of a plan for `program`, verified.
pub fn kernels(plan: &ExecutionPlan, program: &TensorProgram) -> Result<LoweredProgram, CompileError> {
    let lowered = lower(plan).map_err(|error| WithoutKernel::new(error, plan, program))?;
    verified_kernels(&lowered.program)?;
    Ok(lowered)
}

/// Whether kernels may be printed and run.
pub fn verified_kernels(program: &Program) -> Result<(), CompileError> {
    let violations = verify(program);
    if violations.is_empty() { Ok(()) } else { Err(CompileError::Kernels(violations)) }
}
