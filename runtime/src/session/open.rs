//! Opens a bundle on a device. No device ever stands in for another.

use std::sync::Arc;
use std::time::Duration;

use super::error::SessionError;
use super::{Device, ModelSession, ReferenceSession, Session};
use crate::bundle::{Bundle, BundleError, BundleTarget, DeviceCode, TargetPlan};
use crate::cuda::{CudaOptions, CudaSession, Driver};
use crate::host::{HostProgram, HostSession};
#[cfg(feature = "compile")]
use crate::sass::execute::image::EXECUTED;
use crate::target::Target;

/// How a session is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenOptions {
    /// The most threads of the host back end, and of the executor of machine code.
    pub threads: usize,
    /// The most virtual execution units of emulator, text, machine code and GPU; the plan is folded onto them.
    pub units: Option<usize>,
    /// How many interleavings the emulator runs; more than one of machine code are of weak memory.
    pub interleavings: u64,
    /// The seed of the first.
    pub seed: u64,
    /// After how long a wait on a GPU, or of machine code, gives up.
    pub wait_limit: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self { threads, units: None, interleavings: 1, seed: 0, wait_limit: Duration::from_secs(10) }
    }
}

impl OpenOptions {
    /// What a session on a GPU is told.
    pub fn cuda(&self) -> CudaOptions {
        CudaOptions { units: self.units, ..CudaOptions::waiting(self.wait_limit) }
    }
}

/// Opens `bundle` on `device`.
pub fn open_bundle(bundle: &Bundle, device: Device, options: &OpenOptions) -> Result<ModelSession, SessionError> {
    of_model(bundle, open_nameless(bundle, device, options)?, device)
}

/// The session with the bundle's names and initial states.
pub(super) fn of_model(
    bundle: &Bundle,
    mut session: Box<dyn Session>,
    device: Device,
) -> Result<ModelSession, SessionError> {
    if let Some(plan) = session.execution_plan().filter(|plan| !plan.memory.states.is_empty()) {
        let initial = bundle.initial_states(&plan.memory)?;
        session.set_states(&initial)?;
    }
    let names = bundle.index_tensors(device.machine()).clone();
    Ok(ModelSession::new(session, names, bundle.manifest().signature.clone()))
}

/// The host's program of a bundle, for at most so many threads.
pub(super) fn host_program(bundle: &Bundle, threads: usize) -> Result<HostProgram, SessionError> {
    let plan = bundle.target(BundleTarget::Host)?.plan;
    let weights = bundle.packed_weights(&plan.plan.plan().memory)?;
    Ok(HostProgram::new(&plan.plan, weights, threads)?)
}

fn open_nameless(bundle: &Bundle, device: Device, options: &OpenOptions) -> Result<Box<dyn Session>, SessionError> {
    match device {
        Device::Reference => Ok(Box::new(ReferenceSession::new(bundle.program()?))),
        Device::Host => Ok(Box::new(HostSession::of_program(Arc::new(host_program(bundle, options.threads)?))?)),
        Device::Emulator | Device::Text => open_kernels(bundle, device, options),
        Device::MachineCode => open_machine_code(bundle, options),
        Device::Cuda(ordinal) => {
            let capability = Driver::open()?.device(ordinal)?.capability;
            let (plan, code) = code_for(bundle, capability)?;
            let weights = bundle.packed_weights(&plan.plan.plan().memory)?;
            Ok(Box::new(CudaSession::open(ordinal, &plan, &code, &weights, options.cuda())?))
        }
    }
}

/// The newest part of a bundle that runs on a compute capability.
fn code_for(bundle: &Bundle, (major, minor): (u32, u32)) -> Result<(TargetPlan, DeviceCode), SessionError> {
    let fits = |target: &Target| target.runs_on(major, minor);
    let wanted = Target::ALL.into_iter().rev().find(fits);
    let wanted = wanted.map_or_else(|| format!("compute capability {major}.{minor}"), |target| target.to_string());
    code(bundle, fits, wanted)
}

/// The newest part of a bundle whose architecture passes `fits`.
fn code(
    bundle: &Bundle,
    fits: impl Fn(&Target) -> bool,
    wanted: String,
) -> Result<(TargetPlan, DeviceCode), SessionError> {
    let held: Vec<BundleTarget> = bundle.manifest().targets.keys().copied().collect();
    let fitting = held.iter().rev().find_map(|target| match target {
        BundleTarget::Gpu(gpu) => Some(*gpu).filter(&fits),
        BundleTarget::Host => None,
    });
    let target = fitting.ok_or(BundleError::Target { wanted, held })?;
    let part = bundle.target(BundleTarget::Gpu(target))?;
    let code = part.code.ok_or_else(|| SessionError::Internal(format!("{target} has no code")))?;
    Ok((part.plan, code))
}

#[cfg(feature = "compile")]
fn open_kernels(bundle: &Bundle, device: Device, options: &OpenOptions) -> Result<Box<dyn Session>, SessionError> {
    let (plan, code) = code(bundle, |_| true, super::DEFAULT_KERNEL_TARGET.to_string())?;
    let program = crate::bundle::kernel_ir::decode(code.target, &code.kernel_ir)?;
    let weights = bundle.packed_weights(&plan.plan.plan().memory)?;
    super::open_kernels(super::Kernels { target: code.target, plan, program }, weights, device, options)
}

#[cfg(feature = "compile")]
fn open_machine_code(bundle: &Bundle, options: &OpenOptions) -> Result<Box<dyn Session>, SessionError> {
    let is_executed = |target: &Target| {
        let (major, minor) = target.compute_capability();
        EXECUTED.contains(&(10 * major + minor))
    };
    let (plan, code) = code(bundle, is_executed, super::DEFAULT_KERNEL_TARGET.to_string())?;
    let weights = bundle.packed_weights(&plan.plan.plan().memory)?;
    super::open_machine_code(plan, &code, &weights, options)
}

#[cfg(not(feature = "compile"))]
fn open_machine_code(bundle: &Bundle, options: &OpenOptions) -> Result<Box<dyn Session>, SessionError> {
    open_kernels(bundle, Device::MachineCode, options)
}

#[cfg(not(feature = "compile"))]
fn open_kernels(bundle: &Bundle, device: Device, _: &OpenOptions) -> Result<Box<dyn Session>, SessionError> {
    // A bundle without kernels is refused for that first, whatever the build.
    code(bundle, |_| true, "a GPU architecture".to_owned())?;
    let reason = "this program was built without the feature `compile`; use --device host".to_owned();
    Err(SessionError::Unavailable { device, reason })
}
