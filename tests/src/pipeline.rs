//! The compiler's stages one by one, with a hand on the parameters.

use std::collections::BTreeSet;
use std::sync::Arc;
use warpweave::plan::kernel::{Kernel, ScheduleParams};
use warpweave::plan::verify::verify;

use warpweave::codegen::lower::{LoweredProgram, lower};
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::partition::build::merge_axes::merge_axes;
use warpweave::fusion::partition::build::{Uses, build_staged};
use warpweave::fusion::partition::search::{FusionGroup, FusionLevel, Partition, partition};
use warpweave::fusion::schedule::choice::parts::SegmentGroups;
use warpweave::fusion::schedule::options::{PlanOptions, Planned};
use warpweave::graph::pipeline::prepare;
use warpweave::graph::program::{StatementId, TensorProgram};
use warpweave::plan::body::GroupBody;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::plan::ROperator;
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::operand_staging::BOX_BYTES;
use warpweave::plan::verify::Verified;

/// A program with its verified plan and its kernels.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program that was scheduled.
    pub program: TensorProgram,
    /// The plan.
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
    compile_chosen(program, level, &PlanOptions::new(units), choose)
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
    let (program, layouts) = prepare(program);
    let statements: BTreeSet<StatementId> = program.statements.ids().collect();
    let body = Arc::new(merge_axes(&build_staged(&program, &Uses::new(&program), &statements)?, &layouts));
    let params = choose(&body)?;
    let kernel = Kernel::unchecked(body, params);
    let origins = program.origins_of(&statements);
    let group = FusionGroup { statements, kernel, microseconds: 1.0, origins };
    let partition = Partition { groups: vec![group] };
    let plan = warpweave::fusion::schedule::choice::plan(
        &program,
        &layouts,
        &partition,
        &EstimatedCost { arch: GpuArch::h200() },
        units,
    );
    Some(verified(program, plan))
}

/// Compiles under other options of planning, with the parameters that the search chooses.
#[track_caller]
pub fn compile_under(program: &TensorProgram, level: FusionLevel, options: &PlanOptions) -> Compiled {
    let (program, planned) = plan_under(program, level, options);
    verified(program, planned.plan)
}

/// The plan under other options of planning, not verified, and the program that it runs.
pub fn plan_under(program: &TensorProgram, level: FusionLevel, options: &PlanOptions) -> (TensorProgram, Planned) {
    let (program, layouts) = prepare(program);
    let cost = EstimatedCost { arch: GpuArch::h200() };
    let partition = partition(&program, &layouts, &cost, level);
    let planned = warpweave::fusion::schedule::choice::plan_with(&program, &layouts, &partition, &cost, options);
    (program, planned)
}

/// Compiles a program whose segments are what `parts` makes of its number of groups.
#[track_caller]
pub fn compile_parts(
    program: &TensorProgram,
    level: FusionLevel,
    options: &PlanOptions,
    parts: impl FnOnce(usize) -> Vec<SegmentGroups>,
) -> Compiled {
    let (program, layouts) = prepare(program);
    let cost = EstimatedCost { arch: GpuArch::h200() };
    let partition = partition(&program, &layouts, &cost, level);
    let parts = parts(partition.groups.len());
    let planned =
        warpweave::fusion::schedule::choice::parts::plan_parts(&program, &layouts, &partition, &cost, options, &parts);
    verified(program, planned.plan)
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
    plan_chosen(program, level, &PlanOptions::new(units), choose)
}

/// A plan under other options of planning, with the parameters of `choose` where it gives some, and its program.
pub fn plan_chosen(
    program: &TensorProgram,
    level: FusionLevel,
    options: &PlanOptions,
    choose: impl Fn(&Arc<GroupBody>) -> Option<ScheduleParams>,
) -> (TensorProgram, ExecutionPlan) {
    let (program, layouts) = prepare(program);
    let cost = EstimatedCost { arch: GpuArch::h200() };
    let mut partition = partition(&program, &layouts, &cost, level);
    for group in &mut partition.groups {
        if let Some(params) = choose(group.kernel.shared_body()) {
            group.kernel = group.kernel.with_params(params);
        }
    }
    let plan = warpweave::fusion::schedule::choice::plan_with(&program, &layouts, &partition, &cost, options).plan;
    (program, plan)
}
