//! The code of a plan that is explained: its kernel bodies, and what its units fetch of them.

use std::collections::BTreeMap;

use warpweave_codegen::lower::LoweredProgram;
use warpweave_fusion::schedule::simulation::Simulation;
use warpweave_graph::arena::Id;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_runtime::sass::Sass;
use warpweave_runtime::sass::program::MachineCode;
use warpweave_runtime::target::Target;

use crate::build::Build;
use crate::compiler::{device_code, kernels};
use crate::device_compiler::DeviceCompiler;
use crate::error::BuildError;
use crate::explain::ExplainedPlan;
use crate::explain::code_fetches::{CodeFetches, kernel_bytes, kernel_switches};
use crate::explain::machine_code::{CompiledCodeError, MachineCodeError, function_of, runners};

/// What a plan makes a multiprocessor fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanCode {
    /// How many different bodies the plan's rOperators have.
    pub kernels: usize,
    /// Most changes from one kernel body to another that a unit makes in a launch.
    pub switches: u64,
    /// The machine code, where it was compiled.
    pub text: Option<PlanText>,
}

/// The machine code of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanText {
    /// What each body takes in device code, by the number in its name.
    pub bytes: BTreeMap<u32, u64>,
    /// With a cache of whole kernels, for the unit that changes kernels most often.
    pub fetches: CodeFetches,
}

impl PlanCode {
    /// The code of an explained plan, compiled for `target` where a compiler is given.
    ///
    /// # Errors
    /// A kernel is missing, or cannot be compiled or read.
    pub fn of(
        explained: &ExplainedPlan,
        build: &Build,
        (target, compiler): (Target, Option<&dyn DeviceCompiler>),
    ) -> Result<Self, CompiledCodeError> {
        let plan = explained.plan.plan();
        let lowered = kernels(plan, &build.prepared().program).map_err(BuildError::from)?;
        let run = &explained.simulation;
        let text = compiler.map(|compiler| text(plan, run, &lowered, (target, compiler))).transpose()?;
        let switches = kernel_switches(run, &lowered.bindings);
        Ok(Self { kernels: lowered.program.kernels.len(), switches, text })
    }
}

fn text(
    plan: &ExecutionPlan,
    run: &Simulation,
    lowered: &LoweredProgram,
    (target, compiler): (Target, &dyn DeviceCompiler),
) -> Result<PlanText, CompiledCodeError> {
    let compiled = device_code(target, &lowered.program, compiler)?;
    let sass = Sass::of(&compiled.code.cubin).map_err(MachineCodeError::from)?;
    let code = MachineCode::parse(sass.listing()).map_err(MachineCodeError::from)?;
    let runners = runners(plan);
    let functions = lowered.bindings.iter().map(|(id, binding)| {
        let kernel = binding.kernel;
        (kernel, function_of(runners[id.index()], kernel))
    });
    let bytes = kernel_bytes(&code, &functions.collect());
    let fetches = CodeFetches::of(run, &lowered.bindings, &bytes);
    Ok(PlanText { bytes, fetches })
}
