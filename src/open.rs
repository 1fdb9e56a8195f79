//! Opens a model or a bundle on a device. No device ever stands in for another.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use warpweave_codegen::kernel_ir::Program;
use warpweave_frontend::ImportOptions;
use warpweave_fusion::schedule::MemoryPlan;
use warpweave_runtime::bundle::{
    Bundle, BundleError, BundleTarget, DeviceCode, Signature, TargetPlan, is_bundle, kernel_ir,
};
use warpweave_runtime::cuda::{CudaOptions, CudaSession, Driver};
use warpweave_runtime::host::HostSession;
use warpweave_runtime::session::{
    Device, EmulatorOptions, EmulatorSession, ReferenceSession, Session, SessionError, TextSession, pack_program,
};
use warpweave_runtime::target::Target;

use crate::build::{Build, BuildError, Part, device_code};
use crate::device_compiler::DeviceCompiler;
use crate::model::{Model, ModelError};

/// Where a program comes from.
pub enum Source {
    /// A model; each device's plan is made when it is opened.
    Model(Box<Build>),
    /// A bundle.
    Bundle(Bundle),
}

/// How a session is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenOptions {
    /// The most threads of the host back end.
    pub threads: usize,
    /// The most virtual execution units of emulator, text and GPU; the plan is folded onto them.
    pub units: Option<usize>,
    /// How many interleavings the emulator runs.
    pub interleavings: u64,
    /// The seed of the first.
    pub seed: u64,
    /// After how long a wait on a GPU gives up.
    pub wait_limit: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads, units: None, interleavings: 1, seed: 0, wait_limit: Duration::from_secs(10) }
    }
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

/// The units that the emulator and the text run with unless told otherwise: enough to interleave, few enough to be quick.
const DEFAULT_EMULATED_UNITS: usize = 8;
/// The architecture whose kernels are emulated or run as text when a model is opened.
const DEFAULT_TARGET: Target = Target::Sm90a;

impl Source {
    /// The model or bundle at `path`, told apart by content.
    pub fn load(path: &Path, options: &ImportOptions) -> Result<Self, OpenError> {
        if is_bundle(path)? {
            return Ok(Self::Bundle(Bundle::open(path)?));
        }
        let model = Model::import(path, options)?;
        Ok(Self::Model(Box::new(Build::new(model, &mut |_| {}))))
    }

    /// What goes in and what comes out.
    pub fn signature(&self) -> &Signature {
        match self {
            Self::Model(build) => &build.model.signature,
            Self::Bundle(bundle) => &bundle.manifest().signature,
        }
    }

    fn weights(&self, memory: &MemoryPlan) -> Result<Arc<[u8]>, OpenError> {
        match self {
            Self::Model(build) => Ok(pack_program(memory, &build.model.program)?),
            Self::Bundle(bundle) => Ok(bundle.packed_weights(memory)?),
        }
    }

    /// The kernels of an architecture, with their plan: what emulator and text run.
    fn kernels(&self) -> Result<(Target, TargetPlan, Program), OpenError> {
        match self {
            Self::Model(build) => {
                let Part { plan, program, .. } = build.part(BundleTarget::Gpu(DEFAULT_TARGET), &mut |_| {})?;
                let program = program.ok_or_else(|| SessionError::Internal("a GPU part has no kernels".to_owned()))?;
                Ok((DEFAULT_TARGET, plan, program))
            }
            Self::Bundle(bundle) => {
                let held: Vec<BundleTarget> = bundle.manifest().targets.keys().copied().collect();
                let gpu = held.iter().rev().find_map(|target| match target {
                    BundleTarget::Gpu(gpu) => Some(*gpu),
                    BundleTarget::Host => None,
                });
                let wanted = DEFAULT_TARGET.to_string();
                let gpu = gpu.ok_or(BundleError::Target { wanted, held })?;
                let (plan, code) = self.code(gpu)?;
                Ok((gpu, plan, kernel_ir::decode(gpu, &code.kernel_ir)?))
            }
        }
    }

    fn code(&self, gpu: Target) -> Result<(TargetPlan, DeviceCode), OpenError> {
        let Self::Bundle(bundle) = self else {
            return Err(SessionError::Internal("a model has no code yet".to_owned()).into());
        };
        let part = bundle.target(BundleTarget::Gpu(gpu))?;
        let code = part.code.ok_or_else(|| SessionError::Internal(format!("{gpu} has no code")))?;
        Ok((part.plan, code))
    }
}

/// Opens `source` on `device`. `compiler` is asked only where a model runs on a GPU.
pub fn open(
    source: &Source,
    device: Device,
    options: &OpenOptions,
    compiler: &dyn Fn() -> Result<Box<dyn DeviceCompiler>, String>,
) -> Result<Box<dyn Session>, OpenError> {
    match device {
        Device::Reference => {
            let program = match source {
                Source::Model(build) => build.model.program.clone(),
                Source::Bundle(bundle) => bundle.program()?,
            };
            Ok(Box::new(ReferenceSession::new(program)))
        }
        Device::Host => {
            let plan = match source {
                Source::Model(build) => build.part(BundleTarget::Host, &mut |_| {})?.plan,
                Source::Bundle(bundle) => bundle.target(BundleTarget::Host)?.plan,
            };
            let weights = source.weights(&plan.plan.plan().memory)?;
            let session = HostSession::new(&plan.plan, weights, options.threads).map_err(SessionError::from)?;
            Ok(Box::new(session))
        }
        Device::Emulator => {
            let (plan, program, weights) = folded(source, options)?;
            let options = EmulatorOptions { interleavings: options.interleavings, seed: options.seed };
            Ok(Box::new(EmulatorSession::new(program, plan, weights, options)))
        }
        Device::Text => {
            let (plan, program, weights) = folded(source, options)?;
            Ok(Box::new(TextSession::new(&program, plan, weights)?))
        }
        Device::Cuda(ordinal) => open_cuda(source, ordinal, options, compiler),
    }
}

fn folded(source: &Source, options: &OpenOptions) -> Result<(TargetPlan, Program, Arc<[u8]>), OpenError> {
    let (target, plan, program) = source.kernels()?;
    let units = options.units.unwrap_or(DEFAULT_EMULATED_UNITS);
    let plan = plan.folded(BundleTarget::Gpu(target), units)?;
    let weights = source.weights(&plan.plan.plan().memory)?;
    Ok((plan, program, weights))
}

fn open_cuda(
    source: &Source,
    ordinal: u32,
    options: &OpenOptions,
    compiler: &dyn Fn() -> Result<Box<dyn DeviceCompiler>, String>,
) -> Result<Box<dyn Session>, OpenError> {
    let driver = Driver::open().map_err(SessionError::from)?;
    let device = driver.device(ordinal).map_err(SessionError::from)?;
    let (major, minor) = device.capability;
    let (plan, code) = match source {
        Source::Model(build) => {
            let target = Target::ALL.into_iter().rev().find(|target| target.runs_on(major, minor));
            let target = target.ok_or_else(|| BundleError::Target {
                wanted: format!("compute capability {major}.{minor}"),
                held: Vec::new(),
            })?;
            let compiler = compiler().map_err(OpenError::NoCompiler)?;
            let part = build.part(BundleTarget::Gpu(target), &mut |_| {})?;
            let program = part.program.ok_or_else(|| SessionError::Internal(format!("{target} has no kernels")))?;
            (part.plan, device_code(target, &program, compiler.as_ref(), &mut |_| {})?.code)
        }
        Source::Bundle(bundle) => {
            let held: Vec<BundleTarget> = bundle.manifest().targets.keys().copied().collect();
            let fitting = held.iter().rev().find_map(|target| match target {
                BundleTarget::Gpu(gpu) => Some(*gpu).filter(|gpu| gpu.runs_on(major, minor)),
                BundleTarget::Host => None,
            });
            let newest = Target::ALL.into_iter().rev().find(|target| target.runs_on(major, minor));
            let wanted = newest.map_or_else(|| format!("compute capability {major}.{minor}"), |gpu| gpu.to_string());
            source.code(fitting.ok_or(BundleError::Target { wanted, held })?)?
        }
    };
    let weights = source.weights(&plan.plan.plan().memory)?;
    let defaults = CudaOptions::default();
    let options = CudaOptions {
        wait_limit: options.wait_limit,
        launch_limit: defaults.launch_limit.max(options.wait_limit * 2),
        units: options.units,
    };
    Ok(Box::new(CudaSession::open(ordinal, &plan, &code, &weights, options)?))
}
