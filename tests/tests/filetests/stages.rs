//! The compiler's stages from what a file begins with.

use warpweave::codegen::kernel_ir::Program;
use warpweave::codegen::lower::{LoweredProgram, lower as lower_plan};
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::partition::search::{FusionGroup, Partition, partition};
use warpweave::fusion::partition::text as partition_text;
use warpweave::fusion::schedule::choice::plan;
use warpweave::graph::pipeline::{PreparedProgram, prepare};
use warpweave::graph::program::TensorProgram;
use warpweave::graph::{Graph, lower};
use warpweave::plan::kernel::ScheduleParams;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::text as plan_text;
use warpweave::plan::verify::{Verified, verify};
use warpweave_tests::program_text::read_back;

use crate::command::{Choices, Planning};
use crate::start::{Start, told};

impl Start {
    /// The graph.
    pub fn graph(&self) -> Result<&Graph, String> {
        match self {
            Self::Graph(graph) => Ok(graph),
            Self::Program(_) | Self::Partition(..) | Self::Plan(_) | Self::KernelIr(_) => behind("graphs"),
        }
    }

    /// The program before any pass.
    pub fn program(&self) -> Result<TensorProgram, String> {
        match self {
            Self::Graph(graph) => {
                let program = lower(graph);
                read_back(&program).map(|()| program)
            }
            Self::Program(program) | Self::Partition(program, _) => Ok(program.clone()),
            Self::Plan(_) | Self::KernelIr(_) => behind("programs"),
        }
    }

    /// The program after its passes.
    pub fn prepared(&self) -> Result<PreparedProgram, String> {
        let program = self.program()?;
        let prepared = match self {
            Self::Partition(..) => PreparedProgram::new(program),
            _ => prepare(&program),
        };
        read_back(&prepared.program).map(|()| prepared)
    }

    /// The groups of the prepared program. Their text reads back.
    pub fn partition(&self, prepared: &PreparedProgram, choices: &Choices) -> Result<Partition, String> {
        let mut found = match self {
            Self::Partition(_, partition) => partition.clone(),
            _ => partition(prepared, &cost(), choices.fusion),
        };
        let mut unused = choices.params.clone();
        for group in &mut found.groups {
            let takes = |params: &&_| takes(group, params);
            if let Some(params) = choices.params.iter().find(takes) {
                unused.retain(|other| other != params);
                group.kernel = group.kernel.with_params(params.clone());
            }
        }
        match (unused.first(), partition_text::parse(&found.to_string(), &prepared.program)) {
            (Some(params), _) => Err(format!("no group takes {params}")),
            (None, Ok(read)) if read == found => Ok(found),
            (None, read) => Err(format!("{found}reads back as {read:?}")),
        }
    }

    /// The plan, verified. Its text reads back.
    pub fn plan(&self, planning: &Planning) -> Result<Verified, String> {
        let plan = match (self, &planning.options) {
            (Self::KernelIr(_), _) => return behind("plans"),
            (Self::Plan(plan), None) => plan.clone(),
            (Self::Plan(_), Some(_)) => return Err("the plan is made already; name no units".to_owned()),
            (_, None) => return Err("the number of units is missing".to_owned()),
            (_, Some(options)) => {
                let prepared = self.prepared()?;
                let groups = self.partition(&prepared, &planning.choices)?;
                let planned = plan(&prepared, &groups, options);
                if options.sync.is_some_and(|wanted| wanted != planned.sync) {
                    return Err(format!("the plan's dependencies are by {}", planned.sync.name()));
                }
                planned.plan
            }
        };
        read_plan_back(&plan)?;
        verify(plan).map_err(|violations| format!("{violations:?}"))
    }

    /// The kernels of the plan.
    pub fn lowered(&self, planning: &Planning) -> Result<(Verified, LoweredProgram), String> {
        let plan = self.plan(planning)?;
        let lowered = lower_plan(plan.plan()).map_err(told)?;
        Ok((plan, lowered))
    }

    /// The kernels and their entry.
    pub fn kernels(&self, planning: &Planning) -> Result<Program, String> {
        match self {
            Self::KernelIr(program) => Ok(program.clone()),
            _ => Ok(self.lowered(planning)?.1.program),
        }
    }
}

/// Whether a group can have these parameters. Each part of a split reduction is a kernel of its own.
fn takes(group: &FusionGroup, params: &ScheduleParams) -> bool {
    let part = group.kernel.with_params(params.clone()).in_one_part();
    part.tile().len() == group.kernel.body().tile_rank && part.rules().check(&part).is_ok()
}

fn cost() -> EstimatedCost {
    EstimatedCost { arch: GpuArch::h200() }
}

fn read_plan_back(plan: &ExecutionPlan) -> Result<(), String> {
    match plan_text::parse(&plan.to_string()) {
        Ok(read) if read == *plan => Ok(()),
        read => Err(format!("{plan}reads back as {read:?}")),
    }
}

fn behind<T>(what: &str) -> Result<T, String> {
    Err(format!("the file begins behind {what}"))
}
