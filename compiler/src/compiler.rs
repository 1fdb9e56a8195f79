//! From a model to a target's part of a bundle: the one way that the command line, sessions, bundles and tests go.

use std::panic::resume_unwind;
use std::thread;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::lower::{LoweredProgram, lower};
use warpweave_codegen::print::{UnitSize, entry_names, whole_source};
use warpweave_codegen::verify::verify as verify_kernels;
use warpweave_fusion::partition::search::{FusionGroup, Partition, SearchReport};
use warpweave_fusion::schedule::choice::plan;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::TensorProgram;
use warpweave_graph::arena::Arena;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::backend::{Backend, BackendChoice, BackendReason};
use warpweave_plan::verify::verify;
use warpweave_runtime::bundle::{BundleTarget, DeviceCode, TargetPlan, kernel_ir};
use warpweave_runtime::cubin::{CubinError, CubinInfo};
use warpweave_runtime::gates::REGISTERS_PER_MULTIPROCESSOR;
use warpweave_runtime::target::Target;
use warpweave_runtime::toolkit::NoLinker;

use crate::build::Build;
use crate::device_compiler::{DeviceCompiler, ProgramCode, compile_program};
use crate::error::{BuildError, CompileError, WithoutKernel};
use crate::refused::{refused_nodes, unsupported_nodes};

/// Most rTasks of a plan: beyond, tables and streams take gigabytes.
pub const MOST_TASKS: u64 = 1 << 20;

/// A step of a build, for those who watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildPhase {
    /// The program is partitioned.
    Partition(BundleTarget),
    /// A plan is made.
    Schedule(BundleTarget),
    /// Kernels are made.
    Lower(Target),
    /// The plan is verified.
    Verify(BundleTarget),
    /// The kernels are printed and compiled, and the plan is verified meanwhile.
    Compile(Target),
}

/// A target's part of a bundle.
#[derive(Clone, Debug)]
pub struct TargetPart {
    /// What it runs on.
    pub target: BundleTarget,
    /// Which statements share a kernel.
    pub partition: Partition,
    /// What the search for it did.
    pub search: SearchReport,
    /// When which rTasks run, proved, with the operands of their kernels.
    pub plan: TargetPlan,
    /// The kernels; none for the host.
    pub program: Option<Program>,
    /// The kernels' code; `None` for the host, and where no compiler was given.
    pub code: Option<CompiledCode>,
}

/// Device code and what its compiler made of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompiledCode {
    /// The cubin with what loading it takes.
    pub code: DeviceCode,
    /// How many translation units it was compiled in.
    pub units: usize,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory that a thread uses: not 0 where registers were spilled.
    pub local_bytes: u32,
    /// Why units were compiled as one that would have been linked.
    pub unlinked: Option<NoLinker>,
}

/// Partitions, schedules and lowers a model for a target, and compiles the kernels for a GPU where a compiler is given. The plan
/// is verified, beside the device's compiler. `watch` is told of each phase as it begins.
///
/// # Errors
/// There is no plan, no kernels or no code for the target, or what was made does not verify.
pub fn compile(
    build: &Build,
    target: BundleTarget,
    compiler: Option<&dyn DeviceCompiler>,
    watch: &mut dyn FnMut(BuildPhase),
) -> Result<TargetPart, BuildError> {
    let unverified = unverified_part(build, target, watch)?;
    let BundleTarget::Gpu(gpu) = target else {
        watch(BuildPhase::Verify(target));
        return Ok(unverified.into_part(None)?);
    };
    watch(BuildPhase::Lower(gpu));
    let lowered = kernels_or_nodes(build, &unverified, gpu)?;
    let Some(compiler) = compiler else {
        watch(BuildPhase::Verify(target));
        return Ok(unverified.into_part(Some(lowered))?);
    };
    watch(BuildPhase::Compile(gpu));
    let program = lowered.program.clone();
    thread::scope(|scope| {
        let part = scope.spawn(|| unverified.into_part(Some(lowered)));
        let code = device_code(gpu, &program, compiler);
        let part = part.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok(TargetPart { code: Some(code?), ..part })
    })
}

fn unverified_part(
    build: &Build,
    target: BundleTarget,
    watch: &mut dyn FnMut(BuildPhase),
) -> Result<UnverifiedPart, BuildError> {
    watch(BuildPhase::Partition(target));
    check_target(build, target)?;
    let options = build.options(target)?;
    let prepared = build.prepared_for(target.machine());
    let (partition, search) = build.limit.partition(prepared, &options);
    check_tasks(build, &partition, target)?;
    watch(BuildPhase::Schedule(target));
    let planned = plan(prepared, &partition, &options);
    Ok(UnverifiedPart { target, partition, search, plan: planned.plan, reason: planned.reason })
}

/// The kernels of a plan, or the nodes that have none.
fn kernels_or_nodes(build: &Build, part: &UnverifiedPart, target: Target) -> Result<LoweredProgram, BuildError> {
    let program = &build.prepared().program;
    match kernels(&part.plan, program) {
        Err(CompileError::Lower(_)) => {
            Err(BuildError::NoKernels { target, nodes: refused_nodes(&part.plan, &part.partition, program) })
        }
        lowered => Ok(lowered?),
    }
}

/// Refuses a target for which no search would find a plan with kernels: nodes that no kernel computes, recorded times that are
/// another device's. It takes no longer than a walk over the program.
pub fn check_target(build: &Build, target: BundleTarget) -> Result<(), BuildError> {
    build.options(target)?;
    match target {
        BundleTarget::Host => Ok(()),
        BundleTarget::Gpu(target) => {
            let nodes = unsupported_nodes(&build.prepared().program);
            if nodes.is_empty() { Ok(()) } else { Err(BuildError::NoKernels { target, nodes }) }
        }
    }
}

/// Refuses a partition for a GPU that [`compile`] refuses: nodes without kernels, and more rTasks than a plan may have.
pub fn check_partition(
    build: &Build,
    partition: &Partition,
    options: &PlanOptions,
    gpu: Target,
) -> Result<(), BuildError> {
    check_tasks(build, partition, BundleTarget::Gpu(gpu))?;
    // Nodes have the same kernels in every plan, and one of a graph is made soonest.
    let options = PlanOptions { backend: BackendChoice::Only(Backend::CudaGraph), ..options.clone() };
    check_kernels(build, &plan(build.prepared(), partition, &options).plan, partition, gpu)
}

/// Refuses a plan of a partition for a GPU that has nodes without kernels.
pub fn check_kernels(
    build: &Build,
    plan: &ExecutionPlan,
    partition: &Partition,
    target: Target,
) -> Result<(), BuildError> {
    let nodes = refused_nodes(plan, partition, &build.prepared().program);
    if nodes.is_empty() { Ok(()) } else { Err(BuildError::NoKernels { target, nodes }) }
}

/// Refuses a partition of more rTasks than a plan may have, before they are laid out.
pub fn check_tasks(build: &Build, partition: &Partition, target: BundleTarget) -> Result<(), BuildError> {
    let tasks = |group: &FusionGroup| {
        let grid = group.kernel.grid();
        grid.iter().fold(group.kernel.parts() as u64, |tasks, &tiles| tasks.saturating_mul(tiles as u64))
    };
    let all = partition.groups.iter().map(tasks).fold(0, u64::saturating_add);
    let Some(largest) = partition.groups.iter().max_by_key(|group| tasks(group)) else { return Ok(()) };
    if all <= MOST_TASKS {
        return Ok(());
    }
    let program = &build.prepared_for(target.machine()).program;
    let tensor = largest.kernel.body().outputs[0];
    let name = program.tensor_name(tensor).map_or_else(|| tensor.to_string(), str::to_owned);
    let ty = program.tensors[tensor].ty.clone();
    Err(BuildError::Tasks { name, ty, tasks: tasks(largest), target })
}

/// The kernels of a plan for `program`, verified.
pub fn kernels(plan: &ExecutionPlan, program: &TensorProgram) -> Result<LoweredProgram, CompileError> {
    let lowered = lower(plan).map_err(|error| WithoutKernel::new(error, plan, program))?;
    verified_kernels(&lowered.program)?;
    Ok(lowered)
}

/// Whether kernels may be printed and run.
pub fn verified_kernels(program: &Program) -> Result<(), CompileError> {
    let violations = verify_kernels(program);
    if violations.is_empty() { Ok(()) } else { Err(CompileError::Kernels(violations)) }
}

/// A target's part whose plan is not verified yet.
struct UnverifiedPart {
    target: BundleTarget,
    partition: Partition,
    search: SearchReport,
    plan: ExecutionPlan,
    reason: BackendReason,
}

impl UnverifiedPart {
    /// The part, if its plan verifies.
    fn into_part(self, lowered: Option<LoweredProgram>) -> Result<TargetPart, CompileError> {
        let Self { target, partition, search, plan, reason } = self;
        let plan = verify(plan).map_err(CompileError::Plan)?;
        let (program, bindings, operands, relocations) = match lowered {
            Some(LoweredProgram { program, bindings, operands, relocations }) => {
                (Some(program), bindings, operands, relocations)
            }
            None => (None, Arena::new(), Vec::new(), Vec::new()),
        };
        let plan = TargetPlan { plan, bindings, operands, relocations, reason };
        Ok(TargetPart { target, partition, search, plan, program, code: None })
    }
}

/// Compiles the kernels of a part for its architecture, and judges what comes out.
pub fn device_code(
    target: Target,
    program: &Program,
    compiler: &dyn DeviceCompiler,
) -> Result<CompiledCode, BuildError> {
    let ProgramCode { cubin, units, unlinked } = compile_program(program, UnitSize::default(), target, compiler)?;
    let info = CubinInfo::read(&cubin)?;
    let (mut registers, local_bytes) = (0, info.local_bytes());
    for name in entry_names(program) {
        let entry = info.entry(&name).ok_or(CubinError::Damaged("it lacks an entry"))?;
        registers = registers.max(entry.registers);
    }
    if program.threads.saturating_mul(registers) > REGISTERS_PER_MULTIPROCESSOR {
        return Err(BuildError::Registers { target, threads: program.threads, registers });
    }
    let code = DeviceCode {
        target,
        threads: program.threads,
        shared_bytes: program.shared_bytes(),
        node_shared_bytes: program.node_shared_bytes(),
        kernel_ir: kernel_ir::encode(target, program)?,
        source: whole_source(program),
        cubin,
        // Code of one major version loads with every driver of that version.
        minimum_driver: (compiler.version().0, 0),
    };
    Ok(CompiledCode { code, units, registers, local_bytes, unlinked })
}
