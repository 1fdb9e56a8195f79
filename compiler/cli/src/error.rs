//! Errors of the command line, with codes and exit codes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use warpweave::CompileError;
use warpweave::explain::machine_code::{CompiledCodeError, MachineCodeError};
use warpweave::frontend::ImportError;
use warpweave::graph::arithmetic::{highest, lowest};
use warpweave::graph::legible::{escaped, file_remedy, legible};
use warpweave::graph::npy::{NpyError, stand_in};
use warpweave::graph::{ElementType, TensorType};
use warpweave::models;
use warpweave::refit::RefitError;
use warpweave::runtime::bundle::BundleError;
use warpweave::runtime::checkpoint::CheckpointError;
use warpweave::runtime::cubin::CubinError;
use warpweave::runtime::linker::LinkError;
use warpweave::runtime::npz::NpzError;
use warpweave::runtime::nvrtc::NvrtcError;
use warpweave::runtime::sass::SassError;
use warpweave::runtime::session::{Device, FailureKind, SessionError};
use warpweave::runtime::toolkit::fetch::FetchError;
use warpweave::{ArchFileError, BuildError, DeviceCompileError, ModelError, OpenError, TimingsFileError};
use warpweave_measure::bench::BenchError;
use warpweave_measure::lab::run::RunError;
use warpweave_measure::lab::{CostsError, LabError};

/// A check has failed.
pub const EXIT_CHECK: u8 = 1;
/// The command line or a file is not what the command takes.
pub const EXIT_USAGE: u8 = 2;
const EXIT_UNSUPPORTED: u8 = 3;
const EXIT_ENVIRONMENT: u8 = 4;
const EXIT_DEVICE_FAULT: u8 = 5;
const EXIT_TIME_OUT: u8 = 6;
const EXIT_INDEX: u8 = 7;
const EXIT_DAMAGE: u8 = 8;
const EXIT_INTERRUPTED: u8 = 130;

/// Whether all checks of a command have passed.
pub type Passed = bool;

/// Why a command ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A program cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A bundle cannot have the constants of a model.
    #[error(transparent)]
    Refit(RefitError),
    /// A benchmark model is not built or written.
    #[error(transparent)]
    Zoo(#[from] models::ModelError),
    /// The file system refuses.
    #[error("cannot {action} {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A result cannot be printed.
    #[error("cannot write the result to standard output: {0}; {remedy}", remedy = file_remedy(.0))]
    StandardOutput(std::io::Error),
    /// A device's constants cannot be read or written.
    #[error(transparent)]
    Arch(#[from] ArchFileError),
    /// Stored arrays cannot be read.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// A stored array cannot be read.
    #[error("{} cannot be read: {source}; write it with numpy.save", path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: NpyError,
    },
    /// A stored tensor cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ImportError,
    },
    /// An archive stands where an array is needed.
    #[error(
        "{} is an archive of arrays ({}), and one array is needed; give the archive without a name, or write the array with \
         numpy.save",
        path.display(), names.join(", ")
    )]
    ArchiveForArray {
        /// The file.
        path: PathBuf,
        /// The arrays in it.
        names: Vec<String>,
    },
    /// An array of an archive is nothing of the program.
    #[error(
        "the array `{name}` of {} is neither an input nor an output; the inputs are {}, the outputs {}: store arrays under \
         these names, or as in_NAME and out_NAME",
        path.display(), inputs.join(", "), outputs.join(", ")
    )]
    UnknownArray {
        /// The archive.
        path: PathBuf,
        /// The array.
        name: String,
        /// The program's inputs.
        inputs: Vec<String>,
        /// The program's outputs.
        outputs: Vec<String>,
    },
    /// An input is named that the program does not have.
    #[error("the program has no input `{}`; its inputs are {}", legible(name), escaped(&known.join(", ")))]
    UnknownInput {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// An input is missing.
    #[error("the input `{}` ({ty}) is missing; give it with {how}", legible(name))]
    MissingInput {
        /// The name.
        name: String,
        /// Its type.
        ty: TensorType,
        /// How to give it.
        how: &'static str,
    },
    /// An input has the wrong type.
    #[error("the input `{}` must be {expected} and is {found}", legible(name))]
    WrongInput {
        /// The name.
        name: String,
        /// Its type.
        expected: TensorType,
        /// What was given.
        found: TensorType,
    },
    /// The expected outputs do not fit.
    #[error("{0}; store outputs under their names, or as out_0, out_1 and so on")]
    WrongOutputs(String),
    /// A model stands where a bundle is needed, or the reverse.
    #[error("{} is no {wanted}; {remedy}", path.display())]
    WrongKind {
        /// The file.
        path: PathBuf,
        /// What is needed.
        wanted: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// What would be written is read.
    #[error("the output {} is the input {}, which would be lost; nothing is written: name another file", output.display(), input.display())]
    OutputIsInput {
        /// The output.
        output: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// The output is a file of another kind, or of another program.
    #[error("{} is there already, and is no {kind} that warpweave has written; nothing is replaced: name another file", path.display())]
    Replaced {
        /// The existing file, which stays as it is.
        path: PathBuf,
        /// The kind of file that the command writes, as a noun.
        kind: &'static str,
    },
    /// A file has no room.
    #[error(
        "{} takes at least {bytes} bytes, and {free} are free on its file system; nothing is written: free some, or name a file \
         elsewhere",
        path.display()
    )]
    Space {
        /// The file or folder.
        path: PathBuf,
        /// The bytes that it takes at least.
        bytes: u64,
        /// The bytes that this process may still write there.
        free: u64,
    },
    /// `compile --strict` cannot compile for the default target.
    #[error("{target} is left out: {reason}; leave --strict out for a bundle for the host alone")]
    LeftOut {
        /// The default target, such as `sm_90a`.
        target: String,
        /// The message of the error for which it is left out.
        reason: String,
    },
    /// Results or peers of a benchmark cannot be used.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A record of the lab cannot be read.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The lab cannot be run.
    #[error(transparent)]
    LabRun(#[from] RunError),
    /// The costs of the lab's models cannot be measured.
    #[error(transparent)]
    LabCosts(#[from] CostsError),
    /// Tensors of a training run cannot be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The loss is no number.
    #[error(
        "the loss of step {step} is {loss}, and {first}; the weights are those before the step: lower the learning rate, clip \
         gradients with compile --clip-norm, or look for such values in the data"
    )]
    NotFinite {
        /// The step, from 1.
        step: u64,
        /// The loss.
        loss: f64,
        /// Where the first such value was found.
        first: String,
    },
    /// The last step of a training run, whose loss is finite, leaves infinities or NaN in a state.
    #[error(
        "after step {step} the tensor `{}` has values that are infinite or no numbers, though its losses are finite; nothing is \
         saved: lower the learning rate, clip gradients with compile --clip-norm, or take fewer steps",
        legible(name)
    )]
    SpoiltState {
        /// The number of the last step, from 1.
        step: u64,
        /// The first such state by name: a weight, a statistic, or an optimizer's tensor.
        name: String,
    },
    /// A training run was interrupted.
    #[error("the run was interrupted after step {step}; {}", going_on(saved.as_deref()))]
    Interrupted {
        /// The last step that was taken, from 1.
        step: u64,
        /// Where it is saved what was learned.
        saved: Option<PathBuf>,
    },
    /// CUDA's tools are not fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Options contradict one another.
    #[error("{0}")]
    Usage(String),
    /// A device that was asked for is not there.
    #[error("{device} is not available: {reason}")]
    NoDevice {
        /// The device.
        device: Device,
        /// Why, and what to do.
        reason: String,
    },
}

/// How an interrupted run goes on.
fn going_on(saved: Option<&Path>) -> String {
    saved.map_or_else(
        || "nothing is saved: give --save a file to go on from".to_owned(),
        |path| format!("go on with --resume {}", path.display()),
    )
}

/// How an array becomes one of another type.
fn conversion(expected: &TensorType, found: &TensorType) -> String {
    let element = match stand_in(expected.element) {
        ElementType::Bool => "bool",
        ElementType::I8 => "int8",
        ElementType::I16 => "int16",
        ElementType::I32 => "int32",
        ElementType::I64 => "int64",
        ElementType::U8 => "uint8",
        ElementType::U16 => "uint16",
        ElementType::U32 => "uint32",
        ElementType::U64 => "uint64",
        ElementType::F16 => "float16",
        ElementType::F32 => "float32",
        ElementType::F64 => "float64",
        ElementType::BF16
        | ElementType::F8E4M3FN
        | ElementType::F8E4M3FNUZ
        | ElementType::F8E5M2
        | ElementType::F8E5M2FNUZ
        | ElementType::F8E8M0
        | ElementType::F4E2M1
        | ElementType::I4
        | ElementType::U4
        | ElementType::I2
        | ElementType::U2 => unreachable!("NumPy has a type for what stands in"),
    };
    let mut remedies = Vec::new();
    if expected.element != found.element {
        remedies.push(format!("convert it with array.astype(\"{element}\")"));
    }
    match expected.element {
        narrow if narrow.is_storage() && narrow.is_float() => {
            remedies.push(format!("a byte is the code of one {narrow} element, less than {}", 1u32 << narrow.bits()));
        }
        narrow if narrow.is_storage() => {
            remedies.push(format!("a byte is one {narrow} element, {} to {}", lowest(narrow), highest(narrow)));
        }
        _ => {}
    }
    if expected.shape != found.shape {
        remedies.push("give an array of that shape, or import the model with --shape for this one".to_owned());
    }
    remedies.join("; ")
}

macro_rules! through_open {
    ($($error:ty),*) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                Self::Open(error.into())
            }
        })*
    };
}
through_open!(ModelError, BuildError, BundleError, SessionError);

impl From<DeviceCompileError> for CliError {
    fn from(error: DeviceCompileError) -> Self {
        BuildError::from(error).into()
    }
}

impl From<NvrtcError> for CliError {
    fn from(error: NvrtcError) -> Self {
        DeviceCompileError::from(error).into()
    }
}

impl From<RefitError> for CliError {
    fn from(error: RefitError) -> Self {
        match error {
            RefitError::Model(error) => Self::Open(error.into()),
            RefitError::Build(error) => error.into(),
            RefitError::Bundle(error) => error.into(),
            other => Self::Refit(other),
        }
    }
}

impl From<TimingsFileError> for CliError {
    fn from(error: TimingsFileError) -> Self {
        BuildError::from(error).into()
    }
}

impl From<CubinError> for CliError {
    fn from(error: CubinError) -> Self {
        BuildError::from(error).into()
    }
}

impl From<SassError> for CliError {
    fn from(error: SassError) -> Self {
        Self::Usage(format!("cannot disassemble the code: {error}"))
    }
}

impl From<CompiledCodeError> for CliError {
    fn from(error: CompiledCodeError) -> Self {
        match error {
            CompiledCodeError::Build(error) => error.into(),
            CompiledCodeError::MachineCode(error) => error.into(),
        }
    }
}

impl From<MachineCodeError> for CliError {
    fn from(error: MachineCodeError) -> Self {
        match error {
            MachineCodeError::Disassemble(error) => error.into(),
            MachineCodeError::Cubin(error) => error.into(),
            MachineCodeError::Code(error) => Self::Usage(format!("cannot price the machine code: {error}")),
        }
    }
}

impl CliError {
    /// A short name of the kind of error that stays the same across versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open(OpenError::Model(ModelError::Import(error))) => error.code(),
            Self::Open(OpenError::Model(ModelError::Rewrite(_))) => "rewrite",
            Self::Open(OpenError::Model(ModelError::Program(_))) => "program",
            Self::Open(OpenError::Model(ModelError::ProgramFile(_))) => "program-file",
            Self::Open(OpenError::Model(ModelError::Training(_))) => "training",
            Self::Checkpoint(_) => "checkpoint",
            Self::NotFinite { .. } | Self::SpoiltState { .. } => "not-finite",
            Self::Interrupted { .. } => "interrupted",
            Self::Open(OpenError::Build(error)) => match error {
                BuildError::Compile(CompileError::Lower(_)) | BuildError::NoKernels { .. } => "model-unsupported",
                BuildError::Compile(CompileError::Pass(_)) => "program",
                BuildError::Compile(CompileError::Plan(_)) => "plan",
                BuildError::Compile(CompileError::Kernels(_)) => "kernels",
                BuildError::Device(_) | BuildError::NoCompiler(_) => "device-compiler",
                BuildError::Cubin(_) => "cubin",
                BuildError::Registers { .. } => "registers",
                BuildError::Tasks { .. } => "tasks",
                BuildError::Timings(_) => "timings",
                BuildError::TrainingPrecision(_) => "training-precision",
                BuildError::NothingKept { .. } => "nothing-kept",
                BuildError::Bundle(error) => error.code(),
            },
            Self::Open(OpenError::Bundle(error)) => error.code(),
            Self::Open(OpenError::Session(error)) => error.code(),
            Self::Open(OpenError::NoCompiler(_)) => "device-compiler",
            Self::Refit(_) => "refit",
            Self::Zoo(models::ModelError::Write { .. }) | Self::File { .. } | Self::StandardOutput(_) => "file",
            Self::Zoo(
                models::ModelError::Unknown { .. } | models::ModelError::Batch { .. } | models::ModelError::Form { .. },
            ) => "benchmark-model",
            Self::Arch(_) => "arch",
            Self::Npz(_)
            | Self::Npy { .. }
            | Self::Tensor { .. }
            | Self::ArchiveForArray { .. }
            | Self::UnknownArray { .. } => "array",
            Self::UnknownInput { .. } | Self::MissingInput { .. } | Self::WrongInput { .. } => "input",
            Self::WrongOutputs(_) => "output",
            Self::WrongKind { .. } => "file-kind",
            Self::OutputIsInput { .. } => "output-is-input",
            Self::Replaced { .. } => "output-exists",
            Self::Space { .. } => "disk-space",
            Self::LeftOut { .. } => "left-out",
            Self::Bench(error) => error.code(),
            Self::Lab(_) | Self::LabRun(_) | Self::LabCosts(_) => "lab",
            Self::Fetch(_) => "fetch-cuda",
            Self::Usage(_) => "usage",
            Self::NoDevice { .. } => "device",
        }
    }

    /// What to do, where the message does not say it.
    pub fn help(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Open(OpenError::Model(ModelError::Import(error))) => Some(error.remedy()),
            Self::WrongInput { expected, found, .. } => Some(Cow::Owned(conversion(expected, found))),
            _ => self.fixed_help().map(Cow::Borrowed),
        }
    }

    fn fixed_help(&self) -> Option<&'static str> {
        match self {
            Self::Open(OpenError::Model(ModelError::Rewrite(_))) => {
                Some("report this as an error of warpweave, with the model")
            }
            Self::Open(OpenError::Build(
                BuildError::Compile(CompileError::Lower(_)) | BuildError::NoKernels { .. },
            )) => Some(
                "take the host alone (--target host, or --device host), or export the model with other element types",
            ),
            Self::Open(OpenError::Build(BuildError::Compile(CompileError::Plan(_)) | BuildError::Cubin(_))) => {
                Some("report this as an error of warpweave, with the model")
            }
            Self::Open(OpenError::Session(SessionError::Bundle(BundleError::Target { wanted, .. })))
                if wanted == "host" =>
            {
                Some("or run what it holds: --device emulator, text, machine-code or cuda:0")
            }
            Self::Open(OpenError::NoCompiler(_)) => Some("run a bundle that was compiled for the device"),
            _ => None,
        }
    }

    /// What the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Open(error) => match error {
                OpenError::Model(ModelError::Import(
                    ImportError::File { .. }
                    | ImportError::Batch { .. }
                    | ImportError::UnknownName { .. }
                    | ImportError::Choice { .. }
                    | ImportError::Constant { .. },
                )) => EXIT_USAGE,
                OpenError::Model(ModelError::ProgramFile(_)) => EXIT_USAGE,
                OpenError::Model(ModelError::Training(_)) => EXIT_UNSUPPORTED,
                OpenError::Model(ModelError::Import(_)) => EXIT_UNSUPPORTED,
                OpenError::Model(ModelError::Rewrite(_) | ModelError::Program(_)) => EXIT_CHECK,
                OpenError::Build(error) => build_exit(error),
                OpenError::Bundle(error) => of_kind(error.kind()),
                OpenError::Session(error) => of_kind(error.kind()),
                OpenError::NoCompiler(_) => EXIT_ENVIRONMENT,
            },
            Self::NoDevice { .. } | Self::Fetch(_) => EXIT_ENVIRONMENT,
            Self::NotFinite { .. } | Self::SpoiltState { .. } => EXIT_CHECK,
            Self::LeftOut { .. } | Self::Refit(_) => EXIT_UNSUPPORTED,
            Self::Interrupted { .. } => EXIT_INTERRUPTED,
            Self::Zoo(_)
            | Self::File { .. }
            | Self::StandardOutput(_)
            | Self::Arch(_)
            | Self::Npz(_)
            | Self::Npy { .. }
            | Self::Tensor { .. }
            | Self::ArchiveForArray { .. }
            | Self::UnknownArray { .. }
            | Self::UnknownInput { .. }
            | Self::MissingInput { .. }
            | Self::WrongInput { .. }
            | Self::WrongOutputs(_)
            | Self::WrongKind { .. }
            | Self::OutputIsInput { .. }
            | Self::Replaced { .. }
            | Self::Space { .. }
            | Self::Bench(_)
            | Self::Lab(_)
            | Self::LabRun(_)
            | Self::LabCosts(_)
            | Self::Checkpoint(_)
            | Self::Usage(_) => EXIT_USAGE,
        }
    }
}

fn build_exit(error: &BuildError) -> u8 {
    match error {
        BuildError::Compile(CompileError::Lower(_)) | BuildError::NoKernels { .. } | BuildError::Tasks { .. } => {
            EXIT_UNSUPPORTED
        }
        BuildError::Compile(CompileError::Pass(_) | CompileError::Plan(_) | CompileError::Kernels(_))
        | BuildError::Cubin(_)
        | BuildError::Registers { .. } => EXIT_CHECK,
        BuildError::NoCompiler(_) => EXIT_ENVIRONMENT,
        BuildError::Device(error) => device_exit(error),
        BuildError::Timings(_) | BuildError::TrainingPrecision(_) | BuildError::NothingKept { .. } => EXIT_USAGE,
        BuildError::Bundle(error) => of_kind(error.kind()),
    }
}

fn device_exit(error: &DeviceCompileError) -> u8 {
    match error {
        DeviceCompileError::Nvrtc(error) => match error {
            NvrtcError::NotFound { .. } | NvrtcError::Open(_) | NvrtcError::Cache(_) => EXIT_ENVIRONMENT,
            NvrtcError::Call { .. } | NvrtcError::Compile { .. } | NvrtcError::NotAscii { .. } => EXIT_CHECK,
        },
        DeviceCompileError::Link(LinkError::Call { .. })
        | DeviceCompileError::Cubin(_)
        | DeviceCompileError::Process { .. } => EXIT_CHECK,
        DeviceCompileError::Link(LinkError::Open(_) | LinkError::Absent(_))
        | DeviceCompileError::Target { .. }
        | DeviceCompileError::MemoryLimit { .. }
        | DeviceCompileError::Crash { .. }
        | DeviceCompileError::Unlimited(_) => EXIT_ENVIRONMENT,
        DeviceCompileError::TimeLimit { .. } => EXIT_TIME_OUT,
    }
}

/// The exit code of a sort of failure.
fn of_kind(kind: FailureKind) -> u8 {
    match kind {
        FailureKind::Check => EXIT_CHECK,
        FailureKind::Usage => EXIT_USAGE,
        FailureKind::Environment => EXIT_ENVIRONMENT,
        FailureKind::DeviceFault => EXIT_DEVICE_FAULT,
        FailureKind::TimeOut => EXIT_TIME_OUT,
        FailureKind::Index => EXIT_INDEX,
        FailureKind::Damage => EXIT_DAMAGE,
    }
}

/// Wraps a failure of the file system.
pub fn file_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> CliError {
    let path = path.to_owned();
    move |source| CliError::File { action, path, source }
}
