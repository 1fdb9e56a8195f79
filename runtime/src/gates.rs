//! Static gates on compiled code: what the device compiler made of printed text, judged without a GPU.

use crate::cubin::{CubinError, CubinInfo};
use crate::sass::{Instruction, Sass, SassError};

/// Registers of a streaming multiprocessor, on every supported architecture.
pub const REGISTERS_PER_MULTIPROCESSOR: u32 = 65_536;

/// Registers that each thread of a block of `threads` threads may use. They are what the multiprocessor has for it, in
/// the steps in which it hands them out, and no more than an instruction can name.
pub fn registers_per_thread(threads: u32) -> u32 {
    (REGISTERS_PER_MULTIPROCESSOR / threads.max(1) / 8 * 8).min(255)
}

/// The gates could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
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
    #[error("local memory is used ({stack_bytes} bytes a thread): {}", instruction.as_deref().unwrap_or("no access"))]
    LocalMemory {
        /// The stack, called functions included.
        stack_bytes: u32,
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
    /// Registers of a thread, the most of all entries.
    pub registers: u32,
    /// The instructions.
    pub sass: Sass,
    /// The gates that it does not pass.
    pub violations: Vec<GateViolation>,
}

/// A program's code, and what becomes of it where constants are loaded like everything else.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The code.
    pub code: &'a [u8],
    /// The same text compiled with [`COHERENT_CONSTANTS`](crate::sass::COHERENT_CONSTANTS).
    pub coherent: &'a [u8],
}

/// Judges these entries of a program for blocks of `threads` threads.
pub fn judge(subject: Subject<'_>, entries: &[String], threads: u32) -> Result<GateReport, GateError> {
    let info = CubinInfo::read(subject.code)?;
    let (mut registers, mut stack) = (0, 0);
    for name in entries {
        let entry = info.entry(name).ok_or_else(|| GateError::NoEntry(name.clone()))?;
        registers = registers.max(entry.registers);
        stack = stack.max(entry.stack_bytes).max(entry.frame_bytes);
    }
    let sass = Sass::of(subject.code)?;
    let coherent = Sass::of(subject.coherent)?;

    let mut violations = Vec::new();
    let local = sass.local_accesses().first().map(|instruction| instruction.line.clone());
    if stack > 0 || local.is_some() {
        violations.push(GateViolation::LocalMemory { stack_bytes: stack, instruction: local });
    }
    let line = |instruction: &&Instruction| instruction.line.clone();
    let generic = sass.generic_accesses();
    violations.extend(generic.iter().map(line).map(|instruction| GateViolation::GenericAccess { instruction }));
    let non_coherent = coherent.non_coherent_loads();
    violations
        .extend(non_coherent.iter().map(line).map(|instruction| GateViolation::NonCoherentArenaLoad { instruction }));
    if threads.saturating_mul(registers) > REGISTERS_PER_MULTIPROCESSOR {
        violations.push(GateViolation::Registers { threads, registers });
    }
    Ok(GateReport { registers, sass, violations })
}
