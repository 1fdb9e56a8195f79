//! What turns printed text into device code.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use warpweave_codegen::kernel_ir::{KernelId, Program};
use warpweave_codegen::print::{
    DeviceUnits, LinkedUnit, RegisterUse, UnitSize, device_units, function_name, linked_unit, whole_source,
};
use warpweave_runtime::cubin::{CubinError, CubinInfo};
use warpweave_runtime::gates::registers_per_thread;
use warpweave_runtime::linker::{LinkError, Linker};
use warpweave_runtime::nvrtc::{Nvrtc, NvrtcError, UnitKind};
use warpweave_runtime::target::Target;
use warpweave_runtime::toolkit::NoLinker;

/// A compiler of translation units.
pub trait DeviceCompiler: Sync {
    /// Major and minor version of CUDA that it comes from.
    fn version(&self) -> (u32, u32);

    /// The cubin of a translation unit; relocatable if it is to be linked.
    fn compile(&self, source: &str, target: Target, kind: UnitKind) -> Result<Vec<u8>, DeviceCompileError>;
}

/// A program's code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramCode {
    /// An ELF file.
    pub cubin: Vec<u8>,
    /// How many translation units it was compiled in.
    pub units: usize,
    /// Why units were compiled as one that would have been linked.
    pub unlinked: Option<NoLinker>,
}

/// The code of `program`: compiled whole, or in units of `size` side by side and linked. Kernels that would use local memory
/// are compiled again, alone and printed so that they need fewer registers. If some of them still do, a program of few kernels
/// is compiled whole too, and the code that uses less is taken. A program for a target that cannot link is compiled whole, and
/// so is every program where there is no linker.
pub fn compile_program(
    program: &Program,
    size: UnitSize,
    target: Target,
    compiler: &dyn DeviceCompiler,
) -> Result<ProgramCode, DeviceCompileError> {
    let whole = |unlinked| {
        let cubin = compiler.compile(&whole_source(program), target, UnitKind::Whole)?;
        Ok(ProgramCode { cubin, units: 1, unlinked })
    };
    if !target.can_link() {
        return whole(None);
    }
    let DeviceUnits::Linked(units) = device_units(program, size) else {
        return whole(None);
    };
    let linker = match Linker::locate() {
        Ok(linker) => linker,
        Err(LinkError::Absent(reason)) => return whole(Some(reason)),
        Err(error) => return Err(error.into()),
    };
    let kind = UnitKind::Linked { registers: registers_per_thread(program.threads) };
    let compile = |unit: &LinkedUnit| compiler.compile(&unit.source, target, kind);
    let cubins = side_by_side(&units, compile)?;
    let mut linked = Vec::new();
    for (unit, cubin) in units.iter().zip(cubins) {
        let spilled = spilled_kernels(program, &unit.kernels, &cubin)?;
        if spilled.is_empty() {
            linked.push(cubin);
        } else {
            linked.extend(with_fewer_registers(program, unit, cubin, spilled, &compile)?);
        }
    }
    let linked = ProgramCode { cubin: linker.link(&linked, target)?, units: linked.len(), unlinked: None };
    let used = linked.local_bytes()?;
    if used > 0 && program.kernels.len() <= MOST_WHOLE_KERNELS {
        let whole = whole(None)?;
        return Ok(if whole.local_bytes()? < used { whole } else { linked });
    }
    Ok(linked)
}

/// A kernel that does nothing.
const TRIAL: &str = "extern \"C\" __global__ void trial() {}\n";

/// Compiles, and links where programs are linked, a kernel that does nothing: whatever a toolkit lacks for a target shows before
/// a search. Gives why programs are compiled as one unit that would be linked.
pub fn check_tools(target: Target, compiler: &dyn DeviceCompiler) -> Result<Option<NoLinker>, DeviceCompileError> {
    let compile = |kind| {
        compiler.compile(TRIAL, target, kind).map_err(|error| match error {
            DeviceCompileError::Nvrtc(NvrtcError::Compile { log, .. }) | DeviceCompileError::Process { log, .. } => {
                let (major, minor) = compiler.version();
                DeviceCompileError::Target { target, major, minor, log }
            }
            other => other,
        })
    };
    let linker = match Linker::locate() {
        _ if !target.can_link() => return compile(UnitKind::Whole).map(|_| None),
        Err(LinkError::Absent(reason)) => return compile(UnitKind::Whole).map(|_| Some(reason)),
        linker => linker?,
    };
    let unit = compile(UnitKind::Linked { registers: registers_per_thread(TRIAL_THREADS) })?;
    linker.link(&[unit], target)?;
    Ok(None)
}

/// The threads of a block of the kernel that does nothing.
const TRIAL_THREADS: u32 = 256;

/// Kernels of a program that is compiled whole where linked code uses local memory. The compiler's time grows faster than the
/// text: 74 kernels of a training step took minutes.
const MOST_WHOLE_KERNELS: usize = 8;

impl ProgramCode {
    /// Bytes of local memory that a thread uses.
    fn local_bytes(&self) -> Result<u32, CubinError> {
        Ok(CubinInfo::read(&self.cubin)?.local_bytes())
    }
}

/// A kernel that uses local memory.
struct Spilled {
    kernel: KernelId,
    /// How many bytes.
    bytes: u32,
    /// A unit of it alone; none while it is in a unit with others.
    cubin: Option<Vec<u8>>,
}

/// Those of these kernels, the ones of `cubin`, that use local memory.
fn spilled_kernels(program: &Program, kernels: &[KernelId], cubin: &[u8]) -> Result<Vec<Spilled>, CubinError> {
    let info = CubinInfo::read(cubin)?;
    let spilled = |&kernel: &KernelId| {
        let bytes = info.frame_bytes(&function_name(program, kernel)).filter(|bytes| *bytes > 0)?;
        Some(Spilled { kernel, bytes, cubin: None })
    };
    Ok(kernels.iter().filter_map(spilled).collect())
}

/// The code of a unit in which some kernels spill registers: each of them in a unit of its own, printed so that it needs fewer,
/// and the others in one. It is `cubin`, the unit as it was, unless that uses more local memory.
fn with_fewer_registers<C>(
    program: &Program,
    unit: &LinkedUnit,
    cubin: Vec<u8>,
    mut spilled: Vec<Spilled>,
    compile: &C,
) -> Result<Vec<Vec<u8>>, DeviceCompileError>
where
    C: Fn(&LinkedUnit) -> Result<Vec<u8>, DeviceCompileError> + Sync,
{
    let most = |spilled: &[Spilled]| spilled.iter().map(|kernel| kernel.bytes).max();
    let before = most(&spilled);
    let is_other = |kernel: &KernelId| spilled.iter().all(|spilled| spilled.kernel != *kernel);
    let others: Vec<KernelId> = unit.kernels.iter().copied().filter(is_other).collect();
    let others = linked_unit(program, &others, RegisterUse::Free);
    let others = thread::scope(|scope| {
        let others = scope.spawn(|| if others.kernels.is_empty() { Ok(None) } else { compile(&others).map(Some) });
        spare(program, &mut spilled, compile)?;
        others.join().unwrap_or_else(|panic| resume_unwind(panic))
    })?;
    if most(&spilled) >= before {
        return Ok(vec![cubin]);
    }
    Ok(others.into_iter().chain(spilled.into_iter().filter_map(|kernel| kernel.cubin)).collect())
}

/// Compiles each kernel alone, by one way after another to need fewer registers until it uses no local memory, and keeps the
/// code that uses least.
fn spare<C>(program: &Program, spilled: &mut [Spilled], compile: &C) -> Result<(), DeviceCompileError>
where
    C: Fn(&LinkedUnit) -> Result<Vec<u8>, DeviceCompileError> + Sync,
{
    for registers in RegisterUse::SPARING {
        let again: Vec<&mut Spilled> = spilled.iter_mut().filter(|kernel| kernel.bytes > 0).collect();
        let compiled = side_by_side(&again, |spilled| {
            let kernels = [spilled.kernel];
            let cubin = compile(&linked_unit(program, &kernels, registers))?;
            let bytes = spilled_kernels(program, &kernels, &cubin)?.iter().map(|kernel| kernel.bytes).sum();
            Ok::<_, DeviceCompileError>(Spilled { kernel: spilled.kernel, bytes, cubin: Some(cubin) })
        })?;
        for (kernel, compiled) in again.into_iter().zip(compiled) {
            if compiled.bytes < kernel.bytes || kernel.cubin.is_none() {
                *kernel = compiled;
            }
        }
    }
    Ok(())
}

/// What `work` makes of each item, in order, on as many threads as the machine has; the first failure in order.
fn side_by_side<T: Sync, R: Send, E: Send>(items: &[T], work: impl Fn(&T) -> Result<R, E> + Sync) -> Result<Vec<R>, E> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some((index, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, items.get(i)?)))
        {
            done.push((index, work(item)));
        }
        done
    };
    let threads = available_parallelism().map_or(1, usize::from).min(items.len());
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        threads.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Why there is no device code.
#[derive(Debug, thiserror::Error)]
pub enum DeviceCompileError {
    /// NVRTC is absent, or refuses.
    #[error(transparent)]
    Nvrtc(#[from] NvrtcError),
    /// Units cannot be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The linker's result cannot be read.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// The process of the compiler failed.
    #[error("the device compiler failed for {target}: {log}")]
    Process {
        /// The target.
        target: Target,
        /// What it said.
        log: String,
    },
    /// The compiler does not compile a kernel that does nothing.
    #[error(
        "CUDA {major}.{minor} does not compile for {target}: {log}; run warpweave doctor --fetch-cuda, or choose another target"
    )]
    Target {
        /// The target.
        target: Target,
        /// CUDA's major version.
        major: u32,
        /// CUDA's minor version.
        minor: u32,
        /// What the compiler said.
        log: String,
    },
    /// The compiler needs more memory than it may have.
    #[error("the device compiler needs more than {mebibytes} MiB for {target}; give it more with --compiler-memory")]
    MemoryLimit {
        /// The target.
        target: Target,
        /// The limit, above the memory that it uses once it has started.
        mebibytes: u64,
    },
    /// The compiler's process was ended by a signal, as NVRTC is in places where memory runs out.
    #[error(
        "the device compiler crashed with {mebibytes} MiB for {target} (signal {signal}); if that is too little, give it more with \
         --compiler-memory"
    )]
    Crash {
        /// The target.
        target: Target,
        /// The signal.
        signal: i32,
        /// The limit, above the memory that it uses once it has started.
        mebibytes: u64,
    },
    /// The memory of the compiler's process cannot be limited.
    #[error("cannot limit the device compiler's memory: {0}; lift the limits of this process")]
    Unlimited(std::io::Error),
    /// The compiler did not end in time.
    #[error("the device compiler did not end within {limit:?} for {target}; split the model, or report its kernels")]
    TimeLimit {
        /// The target.
        target: Target,
        /// The limit.
        limit: Duration,
    },
}

/// NVRTC in this process.
#[derive(Clone, Copy, Debug)]
pub struct InProcess(pub Nvrtc);

impl DeviceCompiler for InProcess {
    fn version(&self) -> (u32, u32) {
        let (major, minor) = self.0.version();
        (u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0))
    }

    fn compile(&self, source: &str, target: Target, kind: UnitKind) -> Result<Vec<u8>, DeviceCompileError> {
        Ok(self.0.compile_unit(source, target, kind, &[])?.bytes)
    }
}
