//! What the scheduler has to know of each instruction, taken from it once.

use super::super::control::Scoreboard;
use super::super::instruction::Code;
use super::super::machine::{MachineModel, TENSOR_BYTES};
use super::super::operand::Operand;
use super::super::operation::{Modifier, Operation, Pipe};

/// The kind of an instruction, as far as the scheduler treats it specially.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing special.
    Plain,
    /// The barrier of the block.
    Barrier,
    /// A fence for the device.
    Fence,
    /// A load from global memory.
    GlobalLoad {
        /// Whether the first-level cache may answer.
        cached: bool,
    },
    /// A copy from global to shared memory.
    Copy {
        /// Whether the first-level cache may answer.
        cached: bool,
    },
    /// The end of a group of copies.
    CopyGroup,
    /// A wait until at most so many groups of a scoreboard are under way.
    GroupWait {
        /// The scoreboard.
        scoreboard: usize,
        /// The groups.
        pending: usize,
    },
    /// A store, or an operation in memory.
    GlobalStore,
    /// A shuffle.
    Shuffle,
    /// The load of a special register.
    SpecialRegister,
    /// Everything that the first-level cache holds is forgotten.
    Invalidate,
}

/// What the scheduler has to know of an instruction.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Where it is executed.
    pub pipe: Pipe,
    /// Its kind.
    pub kind: Kind,
    /// Cycles until the warp's next instruction.
    pub stall: u64,
    /// Whether another warp should go first.
    pub yields: bool,
    /// A bit for each scoreboard to wait for.
    pub wait: u8,
    /// Released when the result is there.
    pub write: Option<Scoreboard>,
    /// Released when the operands have been read.
    pub read: Option<Scoreboard>,
    /// Bytes of a row of a factor along the reduction, of a product of matrices.
    pub reduced_bytes: u64,
    /// Registers that each lane loads, if it is a load.
    pub registers: u64,
    /// The registers that it reads through the ports of the register file: the operand's place, the register, and whether it stays
    /// in the operand cache.
    pub sources: Vec<(usize, u8, bool)>,
}

impl Issue {
    /// Of an instruction.
    pub fn of(code: &Code) -> Self {
        let pipe = code.operation.pipe();
        let arithmetic = matches!(pipe, Pipe::Fma | Pipe::FmaHeavy | Pipe::Alu | Pipe::Double | Pipe::Tensor);
        let sources = code.sources().map(|(place, register, reuse)| (place, register.0, reuse));
        Self {
            pipe,
            kind: kind(code),
            stall: u64::from(code.control.stall.max(1)),
            yields: code.control.yields,
            wait: code.control.wait,
            write: code.control.write,
            read: code.control.read,
            reduced_bytes: reduced_bytes(code),
            registers: u64::from(match code.operation {
                Operation::Ldsm => code.matrices(),
                _ => code.bytes().div_ceil(4),
            }),
            sources: if arithmetic { sources.collect() } else { Vec::new() },
        }
    }
}

impl Issue {
    /// Cycles for which it keeps its pipe.
    pub fn cycles(&self, machine: &MachineModel) -> u64 {
        match self.pipe {
            Pipe::Tensor => (machine.tensor_cycles.value * self.reduced_bytes).div_ceil(TENSOR_BYTES),
            pipe => machine.cycles(pipe),
        }
    }
}

/// Bytes of a row of a factor along the reduction, of a product of matrices: `HMMA.1688.F32.TF32` has 8 elements of 4.
fn reduced_bytes(code: &Code) -> u64 {
    let has = |modifier| code.has(modifier);
    let elements = match () {
        () if has(Modifier::Shape1684) => 4,
        () if has(Modifier::Shape1688) => 8,
        () if has(Modifier::Shape16832) => 32,
        () => 16,
    };
    let bytes = match () {
        () if code.operation == Operation::Imma => 1,
        () if has(Modifier::Tf32) => 4,
        () => 2,
    };
    elements * bytes
}

fn kind(code: &Code) -> Kind {
    let device = [Modifier::Gpu, Modifier::Sys].into_iter().any(|scope| code.has(scope));
    match code.operation {
        Operation::Bar => Kind::Barrier,
        Operation::Membar if device => Kind::Fence,
        Operation::Ldg => Kind::GlobalLoad { cached: !code.has(Modifier::Strong) },
        Operation::Ldgsts => Kind::Copy { cached: !code.has(Modifier::Bypass) },
        Operation::Ldgdepbar => Kind::CopyGroup,
        Operation::Depbar => group_wait(code),
        Operation::Stg | Operation::Redg | Operation::Red => Kind::GlobalStore,
        Operation::Atomg => Kind::GlobalLoad { cached: false },
        Operation::Shfl => Kind::Shuffle,
        Operation::S2r | Operation::S2ur => Kind::SpecialRegister,
        Operation::Cctl => Kind::Invalidate,
        _ => Kind::Plain,
    }
}

fn group_wait(code: &Code) -> Kind {
    match code.operands[..] {
        [Operand::Scoreboard(scoreboard), Operand::Integer(pending)] => {
            Kind::GroupWait { scoreboard: usize::from(scoreboard), pending: pending as usize }
        }
        _ => Kind::Plain,
    }
}
