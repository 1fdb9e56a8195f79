//! From a tensor program to a verified plan and its persistent program.

use warpweave_codegen::lower::{LowerError, LoweredProgram, lower};
use warpweave_fusion::partition::arch::GpuArch;
use warpweave_fusion::partition::cost::EstimatedCost;
use warpweave_fusion::partition::{FusionLevel, Partition, partition};
use warpweave_fusion::schedule::{self, Verified, Violation};
use warpweave_graph::TensorProgram;
use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;
use warpweave_graph::views::{Layout, inline_views, place_joins};

/// What a compilation decides by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CompileOptions {
    /// Virtual execution units to plan for.
    pub units: usize,
    /// How far operators are fused.
    pub fusion: FusionLevel,
    /// The device that costs are estimated for.
    pub arch: GpuArch,
}

impl Default for CompileOptions {
    fn default() -> Self {
        let arch = GpuArch::h200();
        Self { units: arch.multiprocessors, fusion: FusionLevel::Register, arch }
    }
}

/// Everything that compilation makes before a target's compiler runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Compiled {
    /// The program that was scheduled, views inlined and joins placed.
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
    Lower(#[from] LowerError),
    /// The schedule is wrong: an error of warpweave, found before anything was emitted.
    #[error("the plan does not verify: {}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Plan(Vec<Violation>),
}

/// A program and its partition, from which plans for any number of units are made.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepared {
    /// The program, views inlined and joins placed.
    pub program: TensorProgram,
    /// Where each tensor lives in its buffer.
    pub layouts: Arena<TensorId, Layout>,
    /// Which statements share a kernel.
    pub partition: Partition,
    cost: EstimatedCost,
}

impl Prepared {
    /// Inlines views, places joins and partitions.
    pub fn new(program: &TensorProgram, options: &CompileOptions) -> Self {
        let (program, layouts) = place_joins(&inline_views(program));
        let cost = EstimatedCost { arch: options.arch };
        let partition = partition(&program, &layouts, &cost, options.fusion);
        Self { program, layouts, partition, cost }
    }

    /// A plan for `units` virtual execution units, verified.
    pub fn plan(&self, units: usize) -> Result<Verified, CompileError> {
        let plan = schedule::plan(&self.program, &self.layouts, &self.partition, &self.cost, units);
        schedule::verify(plan).map_err(CompileError::Plan)
    }
}

/// Partitions, schedules, verifies and lowers a program.
pub fn compile(program: &TensorProgram, options: &CompileOptions) -> Result<Compiled, CompileError> {
    let prepared = Prepared::new(program, options);
    let plan = prepared.plan(options.units)?;
    let lowered = lower(plan.plan())?;
    let Prepared { program, partition, .. } = prepared;
    Ok(Compiled { program, partition, plan, lowered })
}
