//! Static gates on compiled code: what NVRTC made of printed text, judged without a GPU.

use crate::cubin::{CubinError, CubinInfo};
use crate::nvrtc::{Nvrtc, NvrtcError};
use crate::sass::{COHERENT_CONSTANTS, Instruction, Sass, SassError};
use crate::target::Target;

/// Registers of a streaming multiprocessor, on every supported architecture.
pub const REGISTERS_PER_MULTIPROCESSOR: u32 = 65_536;

/// The gates could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The text does not compile.
    #[error(transparent)]
    Compile(#[from] NvrtcError),
    /// The code cannot be read.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// The code cannot be disassembled.
    #[error(transparent)]
    Disassemble(#[from] SassError),
    /// The code has no entry of the expected name.
    #[error("the code has no entry `{0}`")]
    NoEntry(String),
}

/// A gate that the code does not pass.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GateViolation {
    /// Registers were spilled, or an array did not become registers.
    #[error("local memory is used ({frame_bytes} bytes a thread): {}", instruction.as_deref().unwrap_or("no access"))]
    LocalMemory {
        /// The stack frame.
        frame_bytes: u32,
        /// The first access.
        instruction: Option<String>,
    },
    /// An access does not name its state space.
    #[error("an access is generic: {instruction}")]
    GenericAccess {
        /// The access.
        instruction: String,
    },
    /// A load of the arena is non-coherent, and may see what a former launch left.
    #[error("a load of the arena is non-coherent: {instruction}")]
    NonCoherentArenaLoad {
        /// The load.
        instruction: String,
    },
    /// A block does not fit a multiprocessor.
    #[error("{threads} threads of {registers} registers do not fit a multiprocessor")]
    Registers {
        /// Threads of a block.
        threads: u32,
        /// Registers of a thread.
        registers: u32,
    },
}

/// Code that has been judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateReport {
    /// Registers of a thread.
    pub registers: u32,
    /// The instructions.
    pub sass: Sass,
    /// The gates that it does not pass.
    pub violations: Vec<GateViolation>,
}

/// Compiles `source` for `target` and judges its entry `entry` for blocks of `threads` threads.
pub fn judge(nvrtc: &Nvrtc, source: &str, entry: &str, threads: u32, target: Target) -> Result<GateReport, GateError> {
    let cubin = nvrtc.compile(source, target)?;
    let info = CubinInfo::read(&cubin.bytes)?;
    let entry = info.entry(entry).ok_or_else(|| GateError::NoEntry(entry.to_owned()))?;
    let sass = Sass::of(&cubin.bytes)?;
    let coherent = nvrtc.compile_with(source, target, &[COHERENT_CONSTANTS])?;
    let coherent = Sass::of(&coherent.bytes)?;

    let mut violations = Vec::new();
    let local = sass.local_accesses().first().map(|instruction| instruction.line.clone());
    if entry.frame_bytes > 0 || local.is_some() {
        violations.push(GateViolation::LocalMemory { frame_bytes: entry.frame_bytes, instruction: local });
    }
    let line = |instruction: &&Instruction| instruction.line.clone();
    let generic = sass.generic_accesses();
    violations.extend(generic.iter().map(line).map(|instruction| GateViolation::GenericAccess { instruction }));
    let non_coherent = coherent.non_coherent_loads();
    violations
        .extend(non_coherent.iter().map(line).map(|instruction| GateViolation::NonCoherentArenaLoad { instruction }));
    if threads.saturating_mul(entry.registers) > REGISTERS_PER_MULTIPROCESSOR {
        violations.push(GateViolation::Registers { threads, registers: entry.registers });
    }
    Ok(GateReport { registers: entry.registers, sass, violations })
}
