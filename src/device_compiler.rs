//! What turns printed text into device code.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use warpweave_codegen::kernel_ir::Program;
use warpweave_codegen::print::{DeviceUnits, UnitSize, device_units, whole_source};
use warpweave_runtime::cubin::{CubinError, CubinInfo};
use warpweave_runtime::gates::registers_per_thread;
use warpweave_runtime::linker::{LinkError, Linker};
use warpweave_runtime::nvrtc::{Nvrtc, NvrtcError, UnitKind};
use warpweave_runtime::target::Target;

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
}

/// The code of `program`: compiled whole, or in units of `size` side by side and linked. A program whose linked code would
/// use local memory is compiled whole if that uses less, and so is every program for a target that cannot link or where
/// there is no linker.
pub fn compile_program(
    program: &Program,
    size: UnitSize,
    target: Target,
    compiler: &dyn DeviceCompiler,
) -> Result<ProgramCode, DeviceCompileError> {
    let whole = || {
        let cubin = compiler.compile(&whole_source(program), target, UnitKind::Whole)?;
        Ok(ProgramCode { cubin, units: 1 })
    };
    let linker = if target.can_link() { Linker::locate()? } else { None };
    let (DeviceUnits::Linked(units), Some(linker)) = (device_units(program, size), linker) else {
        return whole();
    };
    let kind = UnitKind::Linked { registers: registers_per_thread(program.threads) };
    let cubin = linker.link(&side_by_side(&units, |unit| compiler.compile(unit, target, kind))?, target)?;
    let linked = ProgramCode { cubin, units: units.len() };
    let used = linked.local_bytes()?;
    if used == 0 {
        return Ok(linked);
    }
    let whole = whole()?;
    Ok(if whole.local_bytes()? < used { whole } else { linked })
}

impl ProgramCode {
    /// Bytes of local memory that a thread uses.
    fn local_bytes(&self) -> Result<u32, CubinError> {
        Ok(CubinInfo::read(&self.cubin)?.entries.iter().map(|entry| entry.stack_bytes).max().unwrap_or(0))
    }
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
    /// The compiler needs more memory than it may have.
    #[error("the device compiler needs more than {mebibytes} MiB for {target}; give it more with --compiler-memory")]
    MemoryLimit {
        /// The target.
        target: Target,
        /// What it may have beyond what it takes at its start.
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
        /// What it may have beyond what it takes at its start.
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
