//! Opens a model or a bundle on a device. No device ever stands in for another.

use std::path::{Path, PathBuf};

use warpweave_frontend::ImportOptions;
use warpweave_graph::pipeline::Machine;
use warpweave_graph::program::{Names, TensorProgram};
use warpweave_graph::{ProgramSkeleton, Tensor};
use warpweave_plan::plan::MemoryPlan;
use warpweave_runtime::bundle::TrainingRecord;
use warpweave_runtime::bundle::{Bundle, BundleError, BundleTarget, ModelRecord, Signature, is_bundle};
use warpweave_runtime::cuda::{CudaSession, DeviceInfo, Driver};
use warpweave_runtime::host::HostSession;
use warpweave_runtime::nvrtc::Nvrtc;
use warpweave_runtime::session::{
    DEFAULT_KERNEL_TARGET, Device, Kernels, ModelSession, OpenOptions, ReferenceSession, Session, SessionError,
    open_bundle, open_kernels, open_machine_code, pack_program,
};
use warpweave_runtime::target::Target;

use crate::build::Build;
use crate::compiler::{compile, device_code};
use crate::device_compiler::{DeviceCompiler, InProcess};
use crate::error::BuildError;
use crate::model::{Model, ModelError};

/// Where a program comes from.
pub enum Source {
    /// A model; each device's plan is made when it is opened.
    Model(Box<Build>),
    /// A bundle.
    Bundle(Box<Bundle>),
}

/// Why a program cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The model cannot be imported.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The bundle is refused.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The device refuses.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A model cannot run on a GPU without a compiler of device code.
    #[error("NVRTC is needed to run a model on a GPU: {0}")]
    NoCompiler(String),
}

/// Gives the compiler of device text, or says why there is none.
pub type CompilerSource<'a> = &'a dyn Fn() -> Result<Box<dyn DeviceCompiler>, String>;

impl Source {
    /// The model or bundle at `path`, with everything chosen by the library.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::load(path.as_ref(), &ImportOptions::default())
    }

    /// A session on `device`, with everything chosen by the library. A GPU's code is compiled in this process.
    pub fn session(&self, device: Device) -> Result<ModelSession, OpenError> {
        open(self, device, &OpenOptions::default(), &|| match Nvrtc::locate() {
            Ok(found) => Ok(Box::new(InProcess(found))),
            Err(error) => Err(error.to_string()),
        })
    }

    /// The model or bundle at `path`, told apart by content.
    pub fn load(path: &Path, options: &ImportOptions) -> Result<Self, OpenError> {
        if is_bundle(path)? {
            return Ok(Self::Bundle(Box::new(Bundle::open(path)?)));
        }
        let model = Model::import(path, options)?;
        Ok(Self::Model(Box::new(Build::new(model)?)))
    }

    /// The files that it comes of: the model with its external data, or the bundle with the files beside it.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Model(build) => build.model.paths(),
            Self::Bundle(bundle) => {
                let beside = bundle.manifest().references.files.iter();
                let beside = beside.map(|file| bundle.path().with_file_name(&file.name));
                std::iter::once(bundle.path().to_owned()).chain(beside).collect()
            }
        }
    }

    /// The program for a machine, without the values of its constants.
    pub fn skeleton(&self, machine: Machine) -> Result<ProgramSkeleton, BundleError> {
        match self {
            Self::Model(build) => Ok(ProgramSkeleton::of(&build.prepared_for(machine).program)),
            Self::Bundle(bundle) => bundle.skeleton_for(machine),
        }
    }

    /// What the parts of the program for a machine are called in the model.
    pub fn names(&self, machine: Machine) -> Result<Names, BundleError> {
        match self {
            Self::Model(build) => Ok(build.prepared_for(machine).program.names.clone()),
            Self::Bundle(bundle) => bundle.names(machine),
        }
    }

    /// Name and hash of the model, and which inputs were fixed.
    pub fn record(&self) -> &ModelRecord {
        match self {
            Self::Model(build) => &build.model.record,
            Self::Bundle(bundle) => &bundle.manifest().model,
        }
    }

    /// What is trained, if it is a training step.
    pub fn training(&self) -> Option<&TrainingRecord> {
        match self {
            Self::Model(build) => build.model.training.as_ref(),
            Self::Bundle(bundle) => bundle.manifest().training.as_ref(),
        }
    }

    /// What the first run finds of each state of a plan.
    pub fn initial_states(&self, memory: &MemoryPlan) -> Result<Vec<Tensor>, OpenError> {
        match self {
            Self::Model(build) => Ok(initial_states(&build.model.program)),
            Self::Bundle(bundle) => Ok(bundle.initial_states(memory)?),
        }
    }

    /// What goes in and what comes out.
    pub fn signature(&self) -> &Signature {
        match self {
            Self::Model(build) => &build.model.signature,
            Self::Bundle(bundle) => &bundle.manifest().signature,
        }
    }
}

/// Opens `source` on `device`. `compiler` is asked only where a model runs on a GPU.
pub fn open(
    source: &Source,
    device: Device,
    options: &OpenOptions,
    compiler: CompilerSource<'_>,
) -> Result<ModelSession, OpenError> {
    match source {
        Source::Model(build) => {
            let mut session = open_model(build, device, options, compiler)?;
            session.set_states(&initial_states(&build.model.program))?;
            let names = build.index_tensors(device.machine());
            Ok(ModelSession::new(session, names, build.model.signature.clone()))
        }
        Source::Bundle(bundle) => Ok(open_bundle(bundle, device, options)?),
    }
}

fn initial_states(program: &TensorProgram) -> Vec<Tensor> {
    program.states().filter_map(|(state, _)| program.stored(state).cloned()).collect()
}

fn open_model(
    build: &Build,
    device: Device,
    options: &OpenOptions,
    compiler: CompilerSource<'_>,
) -> Result<Box<dyn Session>, OpenError> {
    let program = &build.model.program;
    match device {
        Device::Reference => Ok(Box::new(ReferenceSession::new(program.clone()))),
        Device::Host => {
            let plan = compile(build, BundleTarget::Host, None, &mut |_| {})?.plan;
            let weights = pack_program(&plan.plan.plan().memory, program)?;
            let session = HostSession::new(&plan.plan, weights, options.threads).map_err(SessionError::from)?;
            Ok(Box::new(session))
        }
        Device::Emulator | Device::Text => {
            let kernels = kernels(build, DEFAULT_KERNEL_TARGET)?;
            let weights = pack_program(&kernels.plan.plan.plan().memory, program)?;
            Ok(open_kernels(kernels, weights, device, options)?)
        }
        Device::MachineCode => {
            let compiler = compiler().map_err(OpenError::NoCompiler)?;
            let Kernels { target, plan, program: kernels } = kernels(build, DEFAULT_KERNEL_TARGET)?;
            let code = device_code(target, &kernels, compiler.as_ref())?.code;
            let weights = pack_program(&plan.plan.plan().memory, program)?;
            Ok(open_machine_code(plan, &code, &weights, options)?)
        }
        Device::Cuda(ordinal) => {
            let device = Driver::open().and_then(|driver| driver.device(ordinal)).map_err(SessionError::from)?;
            let target = device_target(&device)?;
            let compiler = compiler().map_err(OpenError::NoCompiler)?;
            let Kernels { plan, program: kernels, .. } = kernels(&build.on_device(&device), target)?;
            let code = device_code(target, &kernels, compiler.as_ref())?.code;
            let weights = pack_program(&plan.plan.plan().memory, program)?;
            Ok(Box::new(CudaSession::open(ordinal, &plan, &code, &weights, options.cuda())?))
        }
    }
}

/// The newest target whose code runs on a device.
pub fn device_target(device: &DeviceInfo) -> Result<Target, BundleError> {
    let (major, minor) = device.capability;
    let target = Target::ALL.into_iter().rev().find(|target| target.runs_on(major, minor));
    let wanted = format!("code for compute capability {major}.{minor}, which no known target gives");
    target.ok_or(BundleError::Target { wanted, held: Vec::new() })
}

fn kernels(build: &Build, target: Target) -> Result<Kernels, OpenError> {
    let part = compile(build, BundleTarget::Gpu(target), None, &mut |_| {})?;
    let program = part.program.ok_or_else(|| SessionError::Internal(format!("{target} has no kernels")))?;
    Ok(Kernels { target, plan: part.plan, program })
}
