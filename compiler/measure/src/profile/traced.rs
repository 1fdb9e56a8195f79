//! Runs of kernels with a trace.

use warpweave_codegen::trace::{TraceClock, TraceLayout, traced};
use warpweave_graph::Tensor;
use warpweave_plan::plan::backend::{Backend, BackendChoice};
use warpweave_plan::plan::{ExecutionPlan, MemoryPlan};
use warpweave_plan::tables::Tables;
use warpweave_plan::verify::verify;
use warpweave_runtime::bundle::{BundleError, BundleTarget, TargetPlan};
use warpweave_runtime::cuda::{CudaSession, DeviceInfo, Driver};
use warpweave_runtime::session::{
    CLOCK_RAMP, DEFAULT_KERNEL_TARGET, DEFAULT_UNITS, Device, Kernels, OpenOptions, Session, SessionError,
    open_kernels, open_machine_code,
};
use warpweave_runtime::target::Target;

use super::{Profile, recorded};
use warpweave::Checked;
use warpweave::CompileError;
use warpweave::DeviceArch;
use warpweave::compiler::verified_kernels;
use warpweave::device_code;
use warpweave::explain::Clock;
use warpweave::{CompilerSource, OpenError, Source, device_target};

/// Kernels with a trace, and where it lies.
struct TracedKernels {
    kernels: Kernels,
    layout: TraceLayout,
    tables: Tables,
}

/// Runs kernels of `source` that record by `by`, on a device that runs kernels.
pub fn profile(
    by: TraceClock,
    source: &Source,
    device: Device,
    options: &OpenOptions,
    compiler: CompilerSource<'_>,
    inputs: &[Tensor],
    prices: &DeviceArch,
) -> Result<Profile, OpenError> {
    let info = gpu(device)?;
    let target = target_of(source, info.as_ref())?;
    let (checked, notes) = match (source, &info) {
        (Source::Model(build), Some(info)) => {
            let build = build.on_device(info).into_owned();
            recordable(&Source::Model(Box::new(build)), device, target)?
        }
        (Source::Model(_) | Source::Bundle(_), _) => recordable(source, device, target)?,
    };
    let missing = || SessionError::Internal(format!("{target} has no kernels"));
    let kernels = checked.kernels.ok_or_else(missing)?;
    let weights = checked.weights;
    let (traced, mut session) = match device {
        Device::Cuda(ordinal) => {
            let open = |units: usize| -> Result<(TracedKernels, Box<dyn Session>), OpenError> {
                let traced = with_trace(&kernels, units, by)?;
                let compiler = compiler().map_err(OpenError::NoCompiler)?;
                let code = device_code(target, &traced.kernels.program, compiler.as_ref())?.code;
                let session = CudaSession::open(ordinal, &traced.kernels.plan, &code, &weights, options.cuda())?;
                Ok((traced, Box::new(session)))
            };
            let planned = kernels.plan.plan.plan().persistent().units();
            let (traced, session) = open(options.units.unwrap_or(planned))?;
            match session.execution_plan().map(|plan| plan.persistent().units()) {
                // What is folded when it is opened is folded before it is traced.
                Some(resident) if resident != traced.units() => {
                    drop(session);
                    open(resident)?
                }
                Some(_) | None => (traced, session),
            }
        }
        Device::MachineCode => {
            let compiler = compiler().map_err(OpenError::NoCompiler)?;
            let traced = with_trace(&kernels, options.units.unwrap_or(DEFAULT_UNITS), by)?;
            let code = device_code(target, &traced.kernels.program, compiler.as_ref())?.code;
            let options = OpenOptions { units: Some(traced.units()), ..*options };
            let session = open_machine_code(traced.kernels.plan.clone(), &code, &weights, &options)?;
            (traced, session)
        }
        Device::Reference | Device::Host | Device::Emulator | Device::Text => {
            let traced = with_trace(&kernels, options.units.unwrap_or(DEFAULT_UNITS), by)?;
            let options = OpenOptions { units: Some(traced.units()), ..*options };
            let session = open_kernels(traced.kernels.clone(), weights, device, &options)?;
            (traced, session)
        }
    };
    let (clock, scale, warm) = match device {
        Device::Emulator | Device::MachineCode => (Clock::Steps, 1.0, false),
        Device::Reference | Device::Host | Device::Text | Device::Cuda(_) => (Clock::Measured, 1e-3, true),
    };
    if warm {
        session.run(inputs)?;
        session.spin(CLOCK_RAMP)?;
    }
    let outputs = session.run(inputs)?;
    let TracedKernels { kernels, layout, tables } = traced;
    let bytes = session.read_arena(layout.start() as usize..layout.arena_bytes() as usize)?;
    let bytes = bytes.ok_or_else(|| SessionError::Internal(format!("{device} has no arena")))?;
    let trace = layout.read(&bytes, &tables);
    let step = trace.step().map(|step| f64::from(step) * scale);
    let trace = match by {
        TraceClock::Shared => trace,
        TraceClock::Cycles => trace.on_shared_clock(),
    };
    let plan = kernels.plan.plan.plan().clone();
    let recorded = recorded::of_trace(plan.persistent(), &trace, scale);
    let bindings = kernels.plan.bindings;
    Ok(Profile {
        notes,
        bindings,
        step,
        multiprocessors: trace.multiprocessors,
        ..Profile::new(plan, clock, recorded, outputs, prices)
    })
}

/// The plan of `source` as one persistent program, and what to say of the choice.
fn recordable(source: &Source, device: Device, target: Target) -> Result<(Checked, Vec<String>), OpenError> {
    let checked = Checked::of(source, Some(BundleTarget::Gpu(target)))?;
    let choice: Vec<String> = checked.plan.choice().into_iter().collect();
    match (source, checked.plan.plan.plan().only_persistent()) {
        (_, Some(_)) => Ok((checked, choice)),
        (Source::Model(build), None) if build.backend == BackendChoice::Auto => {
            let mut build = build.clone();
            build.backend = BackendChoice::Only(Backend::Persistent);
            let checked = Checked::of(&Source::Model(build), Some(BundleTarget::Gpu(target)))?;
            let note = "nodes of a graph keep no trace; one persistent program is recorded instead".to_owned();
            Ok((checked, choice.into_iter().chain([note]).collect()))
        }
        (Source::Model(_) | Source::Bundle(_), None) => {
            let reason =
                "nodes of a graph keep no trace; profile the model, or a bundle of it, with --backend persistent";
            Err(SessionError::Unavailable { device, reason: reason.to_owned() }.into())
        }
    }
}

impl TracedKernels {
    fn units(&self) -> usize {
        self.kernels.plan.plan.plan().persistent().units()
    }
}

/// The GPU of that name; `None` of other devices.
fn gpu(device: Device) -> Result<Option<DeviceInfo>, OpenError> {
    match device {
        Device::Cuda(ordinal) => {
            Ok(Some(Driver::open().and_then(|driver| driver.device(ordinal)).map_err(SessionError::from)?))
        }
        Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode => Ok(None),
    }
}

/// The target whose kernels run: the newest that the device takes, of those that a bundle holds.
fn target_of(source: &Source, info: Option<&DeviceInfo>) -> Result<Target, OpenError> {
    match (source, info) {
        (Source::Model(_), Some(info)) => Ok(device_target(info)?),
        (Source::Model(_), None) => Ok(DEFAULT_KERNEL_TARGET),
        (Source::Bundle(bundle), info) => {
            let held: Vec<BundleTarget> = bundle.manifest().targets.keys().copied().collect();
            let runs = |target: &Target| info.is_none_or(|info| target.runs_on(info.capability.0, info.capability.1));
            let found = held.iter().rev().find_map(|target| match target {
                BundleTarget::Gpu(gpu) => Some(*gpu).filter(runs),
                BundleTarget::Host => None,
            });
            match found {
                Some(found) => Ok(found),
                None => {
                    let target = info.map_or(Ok(DEFAULT_KERNEL_TARGET), device_target)?;
                    Err(BundleError::Target { wanted: target.to_string(), held }.into())
                }
            }
        }
    }
}

/// The kernels on at most `units` units with a trace behind the arena.
fn with_trace(kernels: &Kernels, units: usize, by: TraceClock) -> Result<TracedKernels, OpenError> {
    let Kernels { target, plan, program } = kernels;
    let mut folded = plan.folded(BundleTarget::Gpu(*target), units)?;
    // Every rTask has a call of its own, whose moments the entry records.
    folded.bindings.values_mut().for_each(|binding| binding.shared_operands = None);
    let tables = folded.tables();
    let ExecutionPlan { segments, memory } = folded.plan.plan().clone();
    let too_large = || SessionError::Internal("an arena of more than 8 GB leaves no room for a trace".to_owned());
    let layout = TraceLayout::behind(memory.arena_bytes, &tables).ok_or_else(too_large)?;
    let memory = MemoryPlan { arena_bytes: layout.arena_bytes(), ..memory };
    let verified = verify(ExecutionPlan { segments, memory }).map_err(CompileError::Plan);
    let plan = TargetPlan { plan: verified.map_err(warpweave::BuildError::from)?, ..folded };
    let program = traced(program, &layout, by);
    verified_kernels(&program).map_err(warpweave::BuildError::from)?;
    let kernels = Kernels { target: *target, plan, program };
    Ok(TracedKernels { kernels, layout, tables })
}
