//! Kernels on the emulator, or as text on the processor.

use std::sync::Arc;

use warpweave_codegen::kernel_ir::Program;

use super::emulator::{EmulatorOptions, EmulatorSession};
use super::error::SessionError;
use super::machine_code::{MachineCodeOptions, MachineCodeSession};
use super::open::OpenOptions;
use super::text::TextSession;
use super::{Device, Session, memory_limit};
use crate::bundle::{BundleTarget, DeviceCode, TargetPlan};
use crate::sass::execute::failure::MachineCodeError;
use crate::sass::execute::grid::ExecuteOptions;
use crate::sass::execute::image::Image;
use crate::target::Target;

/// The architecture whose kernels stand for all where none is chosen.
pub const DEFAULT_KERNEL_TARGET: Target = Target::Sm90a;
/// The units that the emulator and the text run with unless told otherwise: enough to interleave, few enough to be
/// quick.
pub const DEFAULT_UNITS: usize = 8;

/// Opens machine code for execution without a GPU. The weights buffer is that of the plan; folding keeps it.
pub fn open_machine_code(
    plan: TargetPlan,
    code: &DeviceCode,
    weights: &Arc<[u8]>,
    options: &OpenOptions,
) -> Result<Box<dyn Session>, SessionError> {
    memory_limit::check_plan(plan.plan.plan(), MACHINE_CODE_COPIES)?;
    let plan = plan.folded(BundleTarget::Gpu(code.target), options.units.unwrap_or(DEFAULT_UNITS))?;
    let &OpenOptions { threads, interleavings, seed, wait_limit, .. } = options;
    let execute = ExecuteOptions { workers: threads, ..ExecuteOptions::default() };
    let options = MachineCodeOptions { execute, interleavings, seed, wait_limit };
    let image = load(code)?;
    Ok(Box::new(MachineCodeSession::new(image, code, plan, weights, options)?))
}

/// The code of a bundle's part, which is for the architecture that the part is for.
pub(super) fn load(code: &DeviceCode) -> Result<Image, MachineCodeError> {
    let image = Image::load(&code.cubin)?;
    image.check_target(code.target)?;
    Ok(image)
}

/// How many times the bytes of the arena the executor takes: those of memory, and which of them were written.
const MACHINE_CODE_COPIES: u64 = 3;
/// How many times the bytes of the arena the emulator takes: who has written a byte, and when, is more than the byte.
const COPIES: u64 = 8;

/// The kernels of an architecture with their plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernels {
    /// The architecture.
    pub target: Target,
    /// The plan.
    pub plan: TargetPlan,
    /// The kernels.
    pub program: Program,
}

/// Opens kernels on the emulator or as text. The weights buffer is that of the plan; folding keeps it.
pub fn open_kernels(
    kernels: Kernels,
    weights: Arc<[u8]>,
    device: Device,
    options: &OpenOptions,
) -> Result<Box<dyn Session>, SessionError> {
    let Kernels { target, plan, program } = kernels;
    memory_limit::check_plan(plan.plan.plan(), COPIES)?;
    let plan = plan.folded(BundleTarget::Gpu(target), options.units.unwrap_or(DEFAULT_UNITS))?;
    match device {
        Device::Emulator => {
            let (interleavings, seed) = (options.interleavings, options.seed);
            let options = EmulatorOptions { interleavings, seed, tensor_core: target.tensor_core() };
            Ok(Box::new(EmulatorSession::new(program, plan, weights, options)))
        }
        Device::Text => Ok(Box::new(TextSession::new(&program, plan, weights, target.tensor_core())?)),
        Device::Reference | Device::Host | Device::MachineCode | Device::Cuda(_) => {
            Err(SessionError::Unavailable { device, reason: "it does not run kernel IR".to_owned() })
        }
    }
}
