//! Whether a program fits a device, and how many of its blocks are resident there at once.

#![expect(unsafe_code, reason = "calls into the CUDA driver")]

use warpweave_plan::tables::{Launch, node_name};

use super::calls::FunctionHandle;
use super::device::DeviceInfo;
use super::error::CudaError;
use super::memory::Context;
use super::session::{CudaOptions, ENTRY_NAME};
use crate::bundle::{BundleTarget, DeviceCode, TargetPlan};
use crate::cubin::CubinInfo;
use crate::session::{SessionError, run_as};

/// Whether a device runs the code, and has the shared memory that it asks for.
pub(super) fn check_device(device: &DeviceInfo, code: &DeviceCode) -> Result<(), CudaError> {
    let (major, minor) = device.capability;
    if !code.target.runs_on(major, minor) {
        let (device, capability) = (device.name.clone(), device.capability);
        return Err(CudaError::Capability { target: code.target, device, capability });
    }
    if code.shared_bytes > device.shared_bytes {
        return Err(too_large(device, code));
    }
    Ok(())
}

/// Whether the code has an entry for every launch.
pub(super) fn check_entries(code: &DeviceCode, launches: &[Launch]) -> Result<(), SessionError> {
    let info = CubinInfo::read(&code.cubin);
    let lacks = |name: &String| info.as_ref().ok().and_then(|info| info.entry(name)).is_none();
    let names = launches.iter().map(|launch| match launch {
        Launch::Streams(_) => ENTRY_NAME.to_owned(),
        Launch::Node(node) => node_name(node.kernel),
    });
    match names.into_iter().find(lacks) {
        Some(name) => Err(SessionError::Internal(format!("the code has no entry `{name}`"))),
        None => Ok(()),
    }
}

/// Lets launches of a function of a live module ask for this much dynamic shared memory.
pub(super) fn allow_shared_bytes(context: &Context, function: FunctionHandle, bytes: u32) -> Result<(), CudaError> {
    // SAFETY: the function is of a loaded module.
    unsafe { context.calls().allow_shared_bytes(function, bytes) }
}

/// How many blocks of this much shared memory are resident on the whole device at once; the function may then ask for it.
pub(super) fn resident_blocks(
    context: &Context,
    function: FunctionHandle,
    device: &DeviceInfo,
    (code, shared_bytes): (&DeviceCode, u32),
) -> Result<usize, CudaError> {
    allow_shared_bytes(context, function, shared_bytes)?;
    // SAFETY: the function is of a loaded module.
    let blocks = unsafe { context.calls().resident_blocks(function, code.threads, shared_bytes) }?;
    let resident = blocks as usize * device.multiprocessors as usize;
    if resident == 0 { Err(too_large(device, code)) } else { Ok(resident) }
}

fn too_large(device: &DeviceInfo, code: &DeviceCode) -> CudaError {
    CudaError::BlockTooLarge {
        device: device.name.clone(),
        threads: code.threads,
        shared_bytes: code.shared_bytes,
        available_bytes: device.shared_bytes,
    }
}

/// The plan on as many units as are resident, or as the caller wants, and what to say about it.
pub(super) fn fit(
    plan: &TargetPlan,
    code: &DeviceCode,
    device: &DeviceInfo,
    resident: usize,
    options: CudaOptions,
) -> Result<(TargetPlan, Vec<String>), SessionError> {
    let planned = plan.plan.plan().grids().into_iter().max().unwrap_or(0) as usize;
    let units = options.units.unwrap_or(resident).min(resident);
    let mut notes = vec![format!("{} runs {planned} vEUs on {} multiprocessors", device.name, device.multiprocessors)];
    if plan.plan.plan().only_segment().is_none() {
        notes.push(format!("it runs {}", run_as(plan.plan.plan())));
    }
    if planned <= units {
        return Ok((plan.clone(), notes));
    }
    notes.push(format!("the plan for {planned} vEUs is folded onto {units}; {resident} blocks are resident at once"));
    Ok((plan.folded(BundleTarget::Gpu(code.target), units)?, notes))
}
