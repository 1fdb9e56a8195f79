//! Why a model cannot be compiled.

use warpweave_codegen::lower::error::LowerError;
use warpweave_codegen::verify::Violation as KernelViolation;
use warpweave_graph::TensorType;
use warpweave_graph::legible::{counted, legible, listed};
use warpweave_graph::pipeline::InvalidPass;
use warpweave_graph::program::precision::Precision;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::verify::violation::Violation;
use warpweave_runtime::bundle::{BundleError, BundleTarget};
use warpweave_runtime::cubin::CubinError;
use warpweave_runtime::target::Target;

use crate::compiler::MOST_TASKS;
use crate::device_compiler::DeviceCompileError;
use crate::refused::RefusedNode;
use crate::timings_file::TimingsFileError;

/// Why a model cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no plan or there are no kernels.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// There are no kernels for some nodes; all of them are listed.
    #[error("{target} has no kernels for {}:{}", counted(.nodes.len(), "node"), listed(.nodes, RefusedNode::culprit))]
    NoKernels {
        /// What was compiled for.
        target: Target,
        /// Each node with its reason.
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
        /// What was compiled for.
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
        /// Element type and extents.
        ty: TensorType,
        /// How many rTasks compute it.
        tasks: u64,
        /// What was compiled for.
        target: BundleTarget,
    },
    /// A training step whose singles were to be stored in 16 bits.
    #[error("a training step is stored in fp32, whose gradients would vanish in {0}; leave --precision out")]
    TrainingPrecision(Precision),
    /// What was to stay in singles is no tensor of the model.
    #[error("`{}` names no tensor and no node of the model, whose tensors are {}", legible(pattern), several(names))]
    NothingKept {
        /// The name or pattern.
        pattern: String,
        /// The tensors of the model.
        names: Vec<String>,
    },
    /// The contents cannot be encoded.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// The first of these names, and how many more there are.
fn several(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", legible(name))).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
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
    pub(crate) fn new(error: LowerError, plan: &ExecutionPlan, program: &TensorProgram) -> Self {
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
