//! Arguments that several commands share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use warpweave::frontend::{ImportOptions, Overridable};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::pipeline::{Machine, Selection};
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::plan::backend::{Backend, BackendChoice, BackendReason, PlanBackend};
use warpweave::runtime::bundle::{self, BundleError, BundleTarget};
use warpweave::runtime::nvrtc::Nvrtc;
use warpweave::runtime::session::{DEFAULT_KERNEL_TARGET, Device, ModelSession, Session};
use warpweave::runtime::target::{Target, UnknownTarget};
use warpweave::{Build, DeviceCompiler, Model, OpenOptions, Source, Storage, open};

use super::arrays::Arrays;
use super::import::{ImportArguments, SweptImportArguments};
use super::precision::PrecisionArguments;
use super::search::ArchArguments;
use crate::compiling::device_compile::ChildProcess;
use crate::error::{CliError, file_error};
use crate::output::Output;

/// A program and the device that it runs on.
#[derive(Args, Clone, Debug)]
pub struct ProgramArguments<S: Args = ImportArguments> {
    /// An ONNX model or a bundle; told apart by content
    #[arg(value_name = "MODEL|BUNDLE")]
    pub path: PathBuf,
    /// reference, host, emulator, text, machine-code, or cuda:N
    #[arg(long, default_value = "host")]
    pub device: Device,
    /// The most threads of the host back end, and of executed machine code
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
    /// After how many seconds a wait between blocks gives up
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub wait_limit: u64,
    /// How far a model's operators are fused: none, register or full; full on a GPU, register on the host unless given
    #[arg(long, value_name = "LEVEL")]
    pub fusion: Option<FusionLevel>,
    #[command(flatten)]
    pub precision: PrecisionArguments,
    /// What runs a model's plan on GPU, emulator and text; auto unless given
    #[arg(long, value_enum)]
    pub backend: Option<Runs>,
    #[command(flatten)]
    pub arch: ArchArguments,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub import: S,
}

impl ProgramArguments {
    /// The model or bundle; arrays for a model's inputs decide extents that it leaves open.
    pub fn load(&self, arrays: &Arrays, output: &Output) -> Result<Source, CliError> {
        let options = ImportOptions { arrays: arrays.shapes(), ..self.import.import_options()? };
        self.priced(load(&self.path, &options, self.choices(), output)?)
    }
}

impl ProgramArguments {
    /// The model alone, with its floating point as it is.
    pub fn load_model(&self, arrays: &Arrays) -> Result<Build, CliError> {
        refuse_bundle(&self.path)?;
        let options = ImportOptions { arrays: arrays.shapes(), ..self.import.import_options()? };
        let mut build = Build::new(Model::import(&self.path, &options)?)?;
        let given = self.arch.given()?;
        (build.fusion, build.prices, build.processor) = (self.fusion, given.gpu, given.processor);
        Ok(build)
    }

    /// The files that are read beside the model.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.import.inputs.files().into_iter().chain(self.precision.files())
    }
}

impl ProgramArguments<SweptImportArguments> {
    /// The model or bundle; a model with this batch, if one is given, and extents of these arrays.
    pub fn load(&self, batch: Option<usize>, arrays: &Arrays, output: &Output) -> Result<Source, CliError> {
        let options = ImportOptions { arrays: arrays.shapes(), ..self.import.inputs.import_options(batch)? };
        self.priced(load(&self.path, &options, self.choices(), output)?)
    }
}

/// What is compiled for.
pub fn parse_target(text: &str) -> Result<BundleTarget, String> {
    text.parse().map_err(|UnknownTarget { name }| {
        let known: String = Target::ALL.iter().map(|target| format!(", {target}")).collect();
        format!("unknown target `{name}`: expected one of {}{known}", BundleTarget::Host)
    })
}

/// Why the plan for a target is for its back end.
pub fn backend_reason(target: BundleTarget, reason: &BackendReason) -> String {
    match (target, reason) {
        (BundleTarget::Host, BackendReason::Asked) => "as always on the host".to_owned(),
        (BundleTarget::Host | BundleTarget::Gpu(_), reason) => reason.to_string(),
    }
}

/// A number of threads, at least one.
pub fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("one thread is the least; leave the option out for as many as the machine has".to_owned()),
        Ok(threads) => Ok(threads),
        Err(error) => Err(format!("`{text}` is no number of threads: {error}")),
    }
}

/// A number of vEUs, at least one.
pub fn parse_units(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("one vEU is the least; leave the option out for as many as the plan has".to_owned()),
        Ok(units) => Ok(units),
        Err(error) => Err(format!("`{text}` is no number of vEUs: {error}")),
    }
}

/// How a model is compiled; a bundle is compiled already.
#[derive(Clone, Copy, Debug)]
pub struct ModelChoices<'c> {
    /// How far its operators are fused; as each device's default unless given.
    pub fusion: Option<FusionLevel>,
    /// What runs its plan on a GPU; chosen by prediction unless given.
    pub backend: Option<Runs>,
    /// What its singles are stored in.
    pub precision: &'c PrecisionArguments,
    /// What a precision is chosen for.
    pub target: BundleTarget,
}

/// The model or bundle at `path`; choices that are a model's alone are refused for a bundle.
pub fn load(
    path: &Path,
    options: &ImportOptions,
    choices: ModelChoices<'_>,
    output: &Output,
) -> Result<Source, CliError> {
    match Source::load(path, options)? {
        Source::Model(build) => {
            let mut build = choices.precision.store(*build, choices.target, output)?;
            (build.fusion, build.backend) = (choices.fusion, choices.backend.unwrap_or(Runs::Auto).choice());
            Ok(Source::Model(Box::new(build)))
        }
        bundle @ Source::Bundle(_) => {
            refuse_for_bundle(options, choices)?;
            Ok(bundle)
        }
    }
}

/// Refuses choices that are a model's alone.
pub fn refuse_for_bundle(options: &ImportOptions, choices: ModelChoices<'_>) -> Result<(), CliError> {
    let compiled = "how a model is compiled, a bundle is compiled already";
    let given = [
        (
            options.batch.is_some() || !options.shapes.is_empty(),
            "--shape and --batch choose",
            "a model's shapes, a bundle's are fixed",
        ),
        (
            options.overridable != Overridable::Declared,
            "--overridable chooses",
            "a model's inputs, a bundle is compiled already",
        ),
        (!options.constants.is_empty(), "--constant fixes", "a model's inputs, a bundle is compiled already"),
        (choices.fusion.is_some(), "--fusion chooses", compiled),
        (choices.backend.is_some(), "--backend chooses", compiled),
        (choices.precision.is_given(), "--precision chooses", compiled),
    ];
    let refused = given.iter().find(|(is_given, ..)| *is_given);
    refused
        .map_or(Ok(()), |(_, option, what)| Err(CliError::Usage(format!("{option} {what}; compile the model again"))))
}

impl<S: Args> ProgramArguments<S> {
    /// A model that is compiled by the constants that are given; a bundle is compiled already.
    fn priced(&self, mut source: Source) -> Result<Source, CliError> {
        let given = self.arch.given()?;
        match &mut source {
            Source::Model(build) => (build.prices, build.processor) = (given.gpu, given.processor),
            Source::Bundle(_) => {}
        }
        Ok(source)
    }

    fn choices(&self) -> ModelChoices<'_> {
        let target = match self.device.machine() {
            Machine::Processor => BundleTarget::Host,
            Machine::Gpu => BundleTarget::Gpu(DEFAULT_KERNEL_TARGET),
        };
        ModelChoices { fusion: self.fusion, backend: self.backend, precision: &self.precision, target }
    }

    /// How the singles of a model are stored.
    pub fn storage(&self, build: &Build, output: &Output) -> Result<Storage, CliError> {
        self.precision.storage(build, self.choices().target, output)
    }

    /// How sessions are opened.
    pub fn options(&self) -> OpenOptions {
        let defaults = OpenOptions::default();
        let threads = self.threads.unwrap_or(defaults.threads);
        OpenOptions { threads, wait_limit: Duration::from_secs(self.wait_limit.max(1)), ..defaults }
    }

    /// Says where a back end that was asked for makes no difference.
    pub fn note_backend(&self, output: &Output) {
        if self.backend.is_some() && !self.device.runs_kernels() {
            output.note(&format!("--backend makes no difference on {}, which has one way to run a plan", self.device));
        }
    }

    /// What runs the plan of a session, where the device has a choice.
    pub fn plan_backend(&self, session: &dyn Session) -> Option<PlanBackend> {
        session.execution_plan().filter(|_| self.device.runs_kernels()).map(ExecutionPlan::backend)
    }

    /// A session on the device, its notes said.
    pub fn open(&self, source: &Source, options: &OpenOptions, output: &Output) -> Result<ModelSession, CliError> {
        self.note_backend(output);
        let session = open(source, self.device, options, &child_compiler)?;
        session.notes().iter().for_each(|note| output.note(note));
        if let (Some(backend), Some(made)) = (self.backend, self.plan_backend(&session)) {
            backend.note_made(made, output);
        }
        Ok(session)
    }
}

/// The model at `path`, for a command that takes no bundle.
pub fn load_model(path: &Path, options: &ImportOptions) -> Result<Model, CliError> {
    load_model_with(path, options, &Selection::default())
}

/// The same after chosen passes over its graph.
pub fn load_model_with(path: &Path, options: &ImportOptions, passes: &Selection) -> Result<Model, CliError> {
    refuse_bundle(path)?;
    Ok(Model::import_with(path, options, passes)?)
}

/// Refuses a bundle where a model is needed.
pub fn refuse_bundle(path: &Path) -> Result<(), CliError> {
    let opened = |error| match error {
        // A model that cannot be read is a model's error, not a bundle's.
        BundleError::File { source, .. } => file_error("read", path)(source),
        other => other.into(),
    };
    if bundle::is_bundle(path).map_err(opened)? {
        return Err(CliError::WrongKind {
            path: path.to_owned(),
            wanted: "ONNX model",
            remedy: "it is a bundle, which is compiled already; give the model that it was compiled from, or see `inspect`, \
                     `check` and `profile` for what a bundle holds",
        });
    }
    Ok(())
}

/// The compiler of device text, in a process of its own.
pub fn child_compiler() -> Result<Box<dyn DeviceCompiler>, String> {
    let nvrtc = Nvrtc::locate().map_err(|error| error.to_string())?;
    Ok(Box::new(ChildProcess::new(&nvrtc)))
}

/// What runs a plan on a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Runs {
    /// One persistent program
    Persistent,
    /// A CUDA graph with a kernel an operator
    CudaGraph,
    /// Segments of both in turn, whatever they are predicted to take: for tests
    Mixed,
    /// One of both, or segments of both, whichever is predicted to be fastest
    Auto,
}

impl Runs {
    /// Says where there are no segments of both kinds.
    pub fn note_made(self, made: PlanBackend, output: &Output) {
        if self == Self::Mixed && made != PlanBackend::Mixed {
            output.note(&format!("one group of operators makes no segments of both kinds; it runs as {made}"));
        }
    }

    /// The choice that is named so.
    pub fn choice(self) -> BackendChoice {
        match self {
            Self::Persistent => BackendChoice::Only(Backend::Persistent),
            Self::CudaGraph => BackendChoice::Only(Backend::CudaGraph),
            Self::Mixed => BackendChoice::Mixed,
            Self::Auto => BackendChoice::Auto,
        }
    }
}
