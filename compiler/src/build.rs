//! From a model to the contents of a bundle, a target at a time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::lower::LoweredProgram;
use warpweave_codegen::print::UnitSize;
use warpweave_codegen::print::{entry_names, whole_source};
use warpweave_fusion::cost::cpu::CpuArch;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::cost::gpu::GpuPrices;
use warpweave_fusion::partition::search::{FusionGroup, FusionLevel, Partition, SearchReport};
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::arena::Arena;
use warpweave_graph::legible::legible;
use warpweave_graph::pipeline::{Machine, Selection};
use warpweave_graph::program::{Source, TensorId};
use warpweave_graph::{TensorProgram, TensorType};
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::backend::{Backend, BackendChoice, BackendReason};
use warpweave_plan::verify::verify;
use warpweave_runtime::bundle::{
    BundleContents, BundleError, BundleTarget, DeviceCode, HostProgram, TargetContents, TargetPlan, kernel_ir,
};
use warpweave_runtime::cubin::{CubinError, CubinInfo};
use warpweave_runtime::cuda::DeviceInfo;
use warpweave_runtime::gates::REGISTERS_PER_MULTIPROCESSOR;
use warpweave_runtime::session::TensorNames;
use warpweave_runtime::target::Target;
use warpweave_runtime::toolkit::NoLinker;

use crate::compiler::{CompileError, CompileOptions, Prepared, kernels};
use crate::device_compiler::{DeviceCompileError, DeviceCompiler, ProgramCode, compile_program};
use crate::index_names::index_names;
use crate::model::Model;
use crate::prices;
use crate::refused::{RefusedNode, refused_nodes, unsupported_nodes};
use crate::search_limit::SearchLimit;
use crate::timings_file::{TimingsFile, TimingsFileError};

/// A step of a build, for those who watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildPhase {
    /// Views are inlined and concats placed.
    Prepare,
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

/// Why a model cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no plan or there are no kernels.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// There are no kernels for some nodes; all of them are listed.
    #[error("{target} has no kernels for {} node{}:{}", .nodes.len(), if .nodes.len() == 1 { "" } else { "s" }, .nodes.iter().map(|node| format!("\n  {node}")).collect::<String>())]
    NoKernels {
        /// The target.
        target: Target,
        /// The nodes.
        nodes: Vec<RefusedNode>,
    },
    /// A GPU is compiled for, and nothing compiles its code.
    #[error("no device compiler was given for {0}")]
    NoCompiler(Target),
    /// There is no device code.
    #[error(transparent)]
    Device(#[from] DeviceCompileError),
    /// The compiler's result cannot be read.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// A block cannot be resident on any device.
    #[error("{threads} threads of {registers} registers do not fit a multiprocessor of {target}")]
    Registers {
        /// The target.
        target: Target,
        /// Threads of a block.
        threads: u32,
        /// Registers of a thread.
        registers: u32,
    },
    /// The recorded times are of no use for the target.
    #[error(transparent)]
    Timings(#[from] TimingsFileError),
    /// A tensor takes more rTasks than a plan may have.
    #[error(
        "`{}` ({ty}) takes {tasks} rTasks on {target}, and a plan has at most {MOST_TASKS}; choose smaller shapes",
        legible(name)
    )]
    Tasks {
        /// The value in the model, or its tensor in the program.
        name: String,
        /// Its type.
        ty: TensorType,
        /// How many rTasks compute it.
        tasks: u64,
        /// The target.
        target: BundleTarget,
    },
    /// The contents cannot be encoded.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// Most rTasks of a plan: beyond, tables and streams take gigabytes.
pub const MOST_TASKS: u64 = 1 << 20;

/// A model that is being built.
#[derive(Clone, Debug)]
pub struct Build {
    /// The model, with the program that plans for GPUs schedule.
    pub model: Model,
    /// How far operators are fused; as each target's default unless given.
    pub fusion: Option<FusionLevel>,
    /// The constants of the GPU that is compiled for; those of the target's generation unless given.
    pub prices: Option<GpuPrices>,
    /// The constants of the processor that the host's plan is made for; those that are shipped for AVX2 unless given, whatever
    /// processor compiles.
    pub processor: Option<CpuArch>,
    /// Recorded times that price kernels of GPUs.
    pub timings: Option<Arc<TimingsFile>>,
    /// What may run the plan for a GPU; a persistent program unless given.
    pub backend: BackendChoice,
    /// When the search of each target ends early.
    pub limit: SearchLimit,
    prepared: Prepared,
    /// What the host's plan schedules, where that is another program.
    of_host: Option<Box<Prepared>>,
}

/// A target's part before its text is compiled.
#[derive(Clone, Debug)]
pub struct TargetPart {
    /// The target.
    pub target: BundleTarget,
    /// Which statements share a kernel.
    pub partition: Partition,
    /// What the search for it did.
    pub search: SearchReport,
    /// The plan.
    pub plan: TargetPlan,
    /// The kernels; none for the host.
    pub program: Option<Program>,
}

/// Device code and what its compiler made of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompiledCode {
    /// The code.
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

impl Build {
    /// Prepares a model.
    pub fn new(model: Model, watch: &mut dyn FnMut(BuildPhase)) -> Self {
        Self::with(model, &Selection::default(), watch)
    }

    /// Prepares a model by chosen passes.
    pub fn with(mut model: Model, passes: &Selection, watch: &mut dyn FnMut(BuildPhase)) -> Self {
        watch(BuildPhase::Prepare);
        let prepared = Prepared::with(&model.program, passes, Machine::Gpu);
        let of_host = Prepared::with(&model.program, passes, Machine::Processor);
        let is_other = of_host != prepared && have_equal_sources(&of_host.program, &prepared.program);
        let of_host = is_other.then(|| Box::new(of_host));
        // The weights are shared, and only the prepared program is needed from here on.
        model.program = prepared.program.clone();
        let backend = BackendChoice::Only(Backend::Persistent);
        Self {
            model,
            fusion: None,
            prices: None,
            processor: None,
            timings: None,
            backend,
            limit: SearchLimit::default(),
            prepared,
            of_host,
        }
    }

    /// The plan for a target and, for a GPU, its kernels.
    pub fn part(&self, target: BundleTarget, watch: &mut dyn FnMut(BuildPhase)) -> Result<TargetPart, BuildError> {
        let unverified = self.unverified_part(target, watch)?;
        let lowered = match target {
            BundleTarget::Host => None,
            BundleTarget::Gpu(gpu) => Some(self.lower(&unverified, gpu, watch)?),
        };
        watch(BuildPhase::Verify(target));
        Ok(unverified.into_part(lowered)?)
    }

    /// The plan for a GPU, its kernels and their code. The plan is verified while the device's compiler runs.
    pub fn part_with_code(
        &self,
        target: Target,
        compiler: &dyn DeviceCompiler,
        watch: &mut dyn FnMut(BuildPhase),
    ) -> Result<(TargetPart, CompiledCode), BuildError> {
        let unverified = self.unverified_part(BundleTarget::Gpu(target), watch)?;
        let lowered = self.lower(&unverified, target, watch)?;
        let program = lowered.program.clone();
        watch(BuildPhase::Compile(target));
        thread::scope(|scope| {
            let part = scope.spawn(|| unverified.into_part(Some(lowered)));
            let judged = device_code(target, &program, compiler);
            let part = part.join().unwrap_or_else(|panic| resume_unwind(panic));
            Ok((part?, judged?))
        })
    }

    /// The kernels of a plan, or the nodes that have none.
    fn lower(
        &self,
        unverified: &UnverifiedPart,
        gpu: Target,
        watch: &mut dyn FnMut(BuildPhase),
    ) -> Result<LoweredProgram, BuildError> {
        watch(BuildPhase::Lower(gpu));
        match kernels(&unverified.plan, &self.prepared.program) {
            Err(CompileError::Lower(_)) => {
                let program = &self.prepared.program;
                let nodes = refused_nodes(&unverified.plan, &unverified.partition, program);
                Err(BuildError::NoKernels { target: gpu, nodes })
            }
            lowered => Ok(lowered?),
        }
    }

    /// Refuses what a build refuses of a partition for a GPU: nodes without kernels, and more rTasks than a plan may have.
    pub fn check_partition(
        &self,
        partition: &Partition,
        options: &CompileOptions,
        gpu: Target,
    ) -> Result<(), BuildError> {
        self.check_tasks(partition, BundleTarget::Gpu(gpu))?;
        // Nodes have the same kernels in every plan, and one of a graph is made soonest.
        let planning = PlanOptions { backend: BackendChoice::Only(Backend::CudaGraph), ..options.plan_options() };
        self.check_kernels(&self.prepared.plan(partition, options, &planning).plan, partition, gpu)
    }

    /// Refuses a plan of a partition for a GPU that has nodes without kernels.
    pub fn check_kernels(&self, plan: &ExecutionPlan, partition: &Partition, gpu: Target) -> Result<(), BuildError> {
        let nodes = refused_nodes(plan, partition, &self.prepared.program);
        if nodes.is_empty() { Ok(()) } else { Err(BuildError::NoKernels { target: gpu, nodes }) }
    }

    /// Refuses a target for which no search would find a plan with kernels: nodes that no kernel computes, recorded times that are
    /// another device's, a program that is not valid. It takes no longer than a walk over the program.
    pub fn check_target(&self, target: BundleTarget) -> Result<(), BuildError> {
        self.prepared_for(target.machine()).verify()?;
        self.options(target)?;
        match target {
            BundleTarget::Host => Ok(()),
            BundleTarget::Gpu(target) => {
                let nodes = unsupported_nodes(&self.prepared.program);
                if nodes.is_empty() { Ok(()) } else { Err(BuildError::NoKernels { target, nodes }) }
            }
        }
    }

    fn unverified_part(
        &self,
        target: BundleTarget,
        watch: &mut dyn FnMut(BuildPhase),
    ) -> Result<UnverifiedPart, BuildError> {
        watch(BuildPhase::Partition(target));
        self.check_target(target)?;
        let prepared = self.prepared_for(target.machine());
        let options = self.options(target)?;
        let (partition, search) = prepared.partition_within(&options, &self.limit);
        self.check_tasks(&partition, target)?;
        watch(BuildPhase::Schedule(target));
        let mut planning = options.plan_options();
        if let BundleTarget::Gpu(gpu) = target {
            planning.shared_bytes = planning.shared_bytes.min(gpu.shared_bytes_per_block());
            planning.backend = self.backend;
        }
        let planned = prepared.plan(&partition, &options, &planning);
        Ok(UnverifiedPart { target, partition, search, plan: planned.plan, reason: planned.reason })
    }

    /// Refuses a partition of more rTasks than a plan may have, before they are laid out.
    pub fn check_tasks(&self, partition: &Partition, target: BundleTarget) -> Result<(), BuildError> {
        let tasks = |group: &FusionGroup| {
            let grid = group.kernel.grid();
            grid.iter().fold(group.kernel.parts() as u64, |tasks, &tiles| tasks.saturating_mul(tiles as u64))
        };
        let all = partition.groups.iter().map(tasks).fold(0, u64::saturating_add);
        let Some(largest) = partition.groups.iter().max_by_key(|group| tasks(group)) else { return Ok(()) };
        if all <= MOST_TASKS {
            return Ok(());
        }
        let program = &self.prepared_for(target.machine()).program;
        let tensor = largest.kernel.body().outputs[0];
        let name = program.tensor_name(tensor).map_or_else(|| tensor.to_string(), str::to_owned);
        let ty = program.tensors[tensor].ty.clone();
        Err(BuildError::Tasks { name, ty, tasks: tasks(largest), target })
    }

    /// What a target's part is decided by.
    pub fn options(&self, target: BundleTarget) -> Result<CompileOptions, TimingsFileError> {
        let defaults = match target {
            BundleTarget::Host => {
                CompileOptions { units: target.units(), ..CompileOptions::processor(self.processor()) }
            }
            BundleTarget::Gpu(gpu) => {
                let prices = self.prices(gpu);
                let defaults = CompileOptions::gpu(&prices);
                match &self.timings {
                    None => defaults,
                    Some(file) => {
                        let cost = Arc::new(file.cost(gpu, EstimatedCost { arch: prices.arch })?);
                        CompileOptions { cost, ..defaults }
                    }
                }
            }
        };
        let fusion = self.fusion.unwrap_or(defaults.fusion);
        Ok(CompileOptions { fusion, ..defaults })
    }

    /// The constants of the processor.
    pub fn processor(&self) -> CpuArch {
        self.processor.unwrap_or_else(prices::of_processor)
    }

    /// The constants of a target's device.
    pub fn prices(&self, gpu: Target) -> GpuPrices {
        self.prices.clone().unwrap_or_else(|| prices::of_target(gpu))
    }

    /// The same model for a device of this machine: by its constants, unless some were given.
    pub fn on_device(&self, device: &DeviceInfo) -> Cow<'_, Self> {
        if self.prices.is_some() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { prices: Some(prices::of_gpu(device)), ..self.clone() })
    }

    /// Which device's constants decide a target's plan, and where they come from.
    pub fn priced_for(&self, target: BundleTarget) -> String {
        match target {
            BundleTarget::Host => prices::processor_priced_for(&self.processor()),
            BundleTarget::Gpu(gpu) => self.prices(gpu).priced_for(),
        }
    }

    /// The program as it is partitioned and scheduled for GPUs.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The program as it is partitioned and scheduled for a machine.
    pub fn prepared_for(&self, machine: Machine) -> &Prepared {
        match (machine, &self.of_host) {
            (Machine::Processor, Some(of_host)) => of_host,
            (Machine::Processor | Machine::Gpu, _) => &self.prepared,
        }
    }

    /// What the host's plan schedules, where that is another program than that of GPUs.
    pub fn own_of_host(&self) -> Option<&Prepared> {
        self.of_host.as_deref()
    }

    /// The names in the model of tensors of the program for a machine whose elements index others.
    pub fn index_tensors(&self, machine: Machine) -> TensorNames {
        index_names(&self.prepared_for(machine).program, &self.model.signature)
    }

    /// The contents of a bundle of these parts.
    pub fn contents(&self, parts: BTreeMap<BundleTarget, TargetContents>) -> BundleContents {
        let has_host = parts.contains_key(&BundleTarget::Host);
        let is_for_host = has_host && parts.len() == 1;
        let of_host = self.of_host.as_ref().filter(|_| has_host && !is_for_host).map(|prepared| HostProgram {
            program: prepared.program.clone(),
            index_tensors: self.index_tensors(Machine::Processor),
        });
        let machine = if is_for_host { Machine::Processor } else { Machine::Gpu };
        let program = &self.prepared_for(machine).program;
        BundleContents {
            model: self.model.record.clone(),
            signature: self.model.signature.clone(),
            index_tensors: self.index_tensors(machine),
            of_host,
            training: self.model.training.clone(),
            program: program.clone(),
            targets: parts,
        }
    }
}

/// Whether inputs, constants and states have the same numbers in two programs, so that both find them in one bundle.
fn have_equal_sources(left: &TensorProgram, right: &TensorProgram) -> bool {
    let sources = |program: &TensorProgram| {
        let given = program.tensors.iter().filter(|(_, tensor)| !matches!(tensor.source, Source::Statement(_)));
        given.map(|(id, tensor)| (id, tensor.ty.clone())).collect::<Vec<_>>()
    };
    let are_equal = |(id, _): &(TensorId, TensorType)| left.stored(*id) == right.stored(*id);
    let of_left = sources(left);
    of_left == sources(right) && left.inputs == right.inputs && of_left.iter().all(are_equal)
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
        Ok(TargetPart { target, partition, search, plan, program })
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
