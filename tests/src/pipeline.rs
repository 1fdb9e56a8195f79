//! The compiler's stages one by one, with a hand on the parameters.

use std::collections::BTreeSet;
use std::sync::Arc;
use warpweave::plan::kernel::{Kernel, ScheduleParams};
use warpweave::plan::verify::verify;

use warpweave::codegen::lower::{LoweredProgram, lower};
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::cost::sync::SyncCosts;
use warpweave::fusion::partition::build::merge_axes::merge_axes;
use warpweave::fusion::partition::build::{Uses, build_staged};
use warpweave::fusion::partition::search::{FusionGroup, FusionLevel, Partition, partition};
use warpweave::fusion::schedule::choice;
use warpweave::fusion::schedule::choice::parts::SegmentGroups;
use warpweave::fusion::schedule::options::{PlanOptions, Planned};
use warpweave::graph::pipeline::{Machine, PreparedProgram, Selection, prepare};
use warpweave::graph::program::{StatementId, TensorProgram};
use warpweave::plan::body::GroupBody;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::plan::ROperator;
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::operand_staging::BOX_BYTES;
use warpweave::plan::verify::Verified;
use warpweave::prices;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::target::Target;

/// A program with its verified plan and its kernels.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program that was scheduled.
    pub program: TensorProgram,
    pub plan: Verified,
    /// The kernels and their operands.
    pub lowered: LoweredProgram,
}

impl Compiled {
    /// The parameters of every kernel of the only segment, for messages.
    pub fn params(&self) -> Vec<String> {
        let operators = &self.plan.plan().persistent().operators;
        operators.values().map(|operator| operator.kernel.params().to_string()).collect()
    }
}

/// Options of plans for this many units of an H200.
pub fn options(units: usize) -> PlanOptions {
    PlanOptions::new(units, Arc::new(EstimatedCost { arch: GpuArch::h200() }), SyncCosts::h200())
}

/// Compiles for a target as the command line does.
#[track_caller]
pub fn compile_for(program: &TensorProgram, target: Target) -> Compiled {
    compile_under(program, FusionLevel::Full, &PlanOptions::gpu(&prices::of_target(target)))
}

/// A program with its verified plan for the host.
pub struct HostPlan {
    /// The program that was scheduled.
    pub program: TensorProgram,
    pub plan: Verified,
}

/// Plans for the host as the command line does.
#[track_caller]
pub fn host_plan(program: &TensorProgram) -> HostPlan {
    let prepared = PreparedProgram::rewritten(program, &Selection::default(), Machine::Processor);
    let prepared = prepared.unwrap_or_else(|error| panic!("{error}"));
    let options = PlanOptions::processor(prices::of_processor(), BundleTarget::Host.units());
    let partition = partition(&prepared, &*options.cost, options.fusion);
    let plan = verify(choice::plan(&prepared, &partition, &options).plan);
    let plan = plan.unwrap_or_else(|violations| panic!("the plan has {violations:?}"));
    HostPlan { program: prepared.program, plan }
}

/// Compiles for `units` vEUs, with the parameters that the search chooses.
#[track_caller]
pub fn compile(program: &TensorProgram, units: usize, level: FusionLevel) -> Compiled {
    compile_with(program, units, level, |_| None)
}

/// Compiles for `units` vEUs, with the parameters of `choose` where it gives some.
#[track_caller]
pub fn compile_with(
    program: &TensorProgram,
    units: usize,
    level: FusionLevel,
    choose: impl Fn(&Arc<GroupBody>) -> Option<ScheduleParams>,
) -> Compiled {
    compile_chosen(program, level, &options(units), choose)
}

/// Compiles under other options of planning, with the parameters of `choose` where it gives some.
#[track_caller]
pub fn compile_chosen(
    program: &TensorProgram,
    level: FusionLevel,
    options: &PlanOptions,
    choose: impl Fn(&Arc<GroupBody>) -> Option<ScheduleParams>,
) -> Compiled {
    let (program, plan) = plan_chosen(program, level, options, choose);
    verified(program, plan)
}

/// Compiles a program as one kernel that stages what does not leave it, under these parameters; `None` if no staged kernel
/// takes it.
#[track_caller]
pub fn compile_staged(
    program: &TensorProgram,
    units: usize,
    choose: impl FnOnce(&Arc<GroupBody>) -> Option<ScheduleParams>,
) -> Option<Compiled> {
    let prepared = prepare(program);
    let program = &prepared.program;
    let statements: BTreeSet<StatementId> = program.statements.ids().collect();
    let body = build_staged(program, &Uses::new(program), &statements)?;
    let body = Arc::new(merge_axes(&body, &prepared.layouts));
    let params = choose(&body)?;
    let kernel = Kernel::unchecked(body, params);
    let origins = program.origins_of(&statements);
    let group = FusionGroup { statements, kernel, microseconds: 1.0, origins };
    let partition = Partition { groups: vec![group] };
    let plan = choice::plan(&prepared, &partition, &options(units)).plan;
    Some(verified(prepared.program, plan))
}

/// Compiles under other options of planning, with the parameters that the search chooses.
#[track_caller]
pub fn compile_under(program: &TensorProgram, level: FusionLevel, options: &PlanOptions) -> Compiled {
    let (program, planned) = plan_under(program, level, options);
    verified(program, planned.plan)
}

/// The plan under other options of planning, not verified, and the program that it runs.
pub fn plan_under(program: &TensorProgram, level: FusionLevel, options: &PlanOptions) -> (TensorProgram, Planned) {
    let prepared = prepare(program);
    let partition = partition(&prepared, &*options.cost, level);
    let planned = choice::plan(&prepared, &partition, options);
    (prepared.program, planned)
}

/// Compiles a program whose segments are what `parts` makes of its number of groups.
#[track_caller]
pub fn compile_parts(
    program: &TensorProgram,
    level: FusionLevel,
    options: &PlanOptions,
    parts: impl FnOnce(usize) -> Vec<SegmentGroups>,
) -> Compiled {
    let prepared = prepare(program);
    let partition = partition(&prepared, &*options.cost, level);
    let parts = parts(partition.groups.len());
    let planned = choice::parts::plan_parts(&prepared, &partition, options, &parts);
    verified(prepared.program, planned.plan)
}

#[track_caller]
fn verified(program: TensorProgram, plan: ExecutionPlan) -> Compiled {
    let plan = verify(plan).unwrap_or_else(|violations| panic!("the plan has {violations:?}"));
    let lowered = lower(plan.plan()).unwrap_or_else(|error| panic!("{error}"));
    check_shared_memory(&plan, &lowered);
    Compiled { program, plan, lowered }
}

/// Asserts that kernels have no more shared memory than the plan reckons with.
#[track_caller]
fn check_shared_memory(plan: &Verified, lowered: &LoweredProgram) {
    let most = |operator: &ROperator| {
        let boxes = matches!(*operator.kernel.template(), Template::Contraction(_)).then_some(BOX_BYTES);
        operator.kernel.rules().shared_bytes(&operator.kernel) + boxes.unwrap_or(0)
    };
    let most = plan.plan().operators().values().map(most).max().unwrap_or(0);
    let needed = lowered.program.kernels.values().map(|kernel| kernel.shared_bytes() as usize).max().unwrap_or(0);
    assert!(needed <= most, "kernels need {needed} bytes of shared memory, the plan reckons with {most}");
}

/// The plan for `units` vEUs, not verified, and the program that it runs.
pub fn plan(program: &TensorProgram, units: usize, level: FusionLevel) -> (TensorProgram, ExecutionPlan) {
    plan_with(program, units, level, |_| None)
}

/// The plan, not verified, with the parameters of `choose` where it gives some, and the program that it runs.
pub fn plan_with(
    program: &TensorProgram,
    units: usize,
    level: FusionLevel,
    choose: impl Fn(&Arc<GroupBody>) -> Option<ScheduleParams>,
) -> (TensorProgram, ExecutionPlan) {
    plan_chosen(program, level, &options(units), choose)
}

/// A plan under other options of planning, with the parameters of `choose` where it gives some, and its program.
pub fn plan_chosen(
    program: &TensorProgram,
    level: FusionLevel,
    options: &PlanOptions,
    choose: impl Fn(&Arc<GroupBody>) -> Option<ScheduleParams>,
) -> (TensorProgram, ExecutionPlan) {
    let prepared = prepare(program);
    let mut partition = partition(&prepared, &*options.cost, level);
    for group in &mut partition.groups {
        if let Some(params) = choose(group.kernel.shared_body()) {
            group.kernel = group.kernel.with_params(params);
        }
    }
    let plan = choice::plan(&prepared, &partition, options).plan;
    (prepared.program, plan)
}
