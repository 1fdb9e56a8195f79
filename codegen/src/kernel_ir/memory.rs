//! Memory and registers that statements name: types, spaces, widths and orders.

use serde::{Deserialize, Serialize};
use warpweave_plan::tensor_core::fragment::FragmentKind;
use warpweave_plan::tensor_core::sum::FactorFormat;

use super::expression::{ScalarType, UnaryOp};

/// Threads of one warp.
pub const WARP_SIZE: u32 = 32;

/// The type of an element in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum MemoryType {
    /// One byte, 0 or 1; a `Bool` in a register.
    Bool,
    /// A signed byte; an `I32` in a register.
    I8,
    /// An unsigned byte; an `I32` in a register.
    U8,
    /// A signed integer of two bytes; an `I32` in a register.
    I16,
    /// An unsigned integer of two bytes; an `I32` in a register.
    U16,
    /// Four bytes; an `I32` in a register.
    I32,
    /// An unsigned integer of four bytes; an `I64` in a register.
    U32,
    /// Eight bytes; an `I64` in a register.
    I64,
    /// Four bytes; an `F32` in a register.
    F32,
    /// IEEE binary16, two bytes; an `F32` in a register, which a store rounds to nearest even.
    F16,
    /// The upper half of a single, two bytes; an `F32` in a register, which a store rounds to nearest even.
    BF16,
}

impl MemoryType {
    /// All, in declaration order.
    pub const ALL: [Self; 11] = [
        Self::Bool,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::F32,
        Self::F16,
        Self::BF16,
    ];

    /// Bytes of one element.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 => 8,
        }
    }

    /// The type in a register.
    pub fn scalar_type(self) -> ScalarType {
        match self {
            Self::Bool => ScalarType::Bool,
            Self::I8 | Self::U8 | Self::I16 | Self::U16 | Self::I32 => ScalarType::I32,
            Self::U32 | Self::I64 => ScalarType::I64,
            Self::F32 | Self::F16 | Self::BF16 => ScalarType::F32,
        }
    }

    /// Whether an access of a thread moves so many elements.
    pub fn is_moved_together(self, elements: usize) -> bool {
        let are_eight = matches!(self, Self::U16 | Self::F16 | Self::BF16);
        Width::of(elements).is_some_and(|width| width != Width::Eight || are_eight)
    }

    /// The function that rounds an `F32` as a store does; `None` for types that keep what a register holds in range.
    pub fn rounding(self) -> Option<UnaryOp> {
        match self {
            Self::F16 => Some(UnaryOp::ToF16),
            Self::BF16 => Some(UnaryOp::ToBF16),
            Self::Bool
            | Self::I8
            | Self::U8
            | Self::I16
            | Self::U16
            | Self::I32
            | Self::U32
            | Self::I64
            | Self::F32 => None,
        }
    }
}

/// Global memory that tensors live in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum GlobalSpace {
    /// Inputs, activations and outputs: written during the launch, read with coherent loads.
    Arena,
    /// Constants: never written during a launch, read with non-coherent loads.
    Weights,
    /// What a launch finds of states: in the arena, there before anything is waited for. Read with coherent loads.
    States,
}

/// Elements that one access moves; the address is aligned to the access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Width {
    /// One element.
    One,
    /// Two consecutive elements.
    Two,
    /// Four consecutive elements.
    Four,
    /// Eight consecutive elements of floating point of 16 bits, or of unsigned integers of two bytes.
    Eight,
}

impl Width {
    /// The width of so many elements.
    pub fn of(elements: usize) -> Option<Self> {
        match elements {
            1 => Some(Self::One),
            2 => Some(Self::Two),
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            _ => None,
        }
    }

    /// The number of elements.
    pub fn elements(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// The type of the factors of a product of matrices: floating point of 16 bits, two elements a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Half {
    /// IEEE binary16.
    F16,
    /// The upper half of a single.
    BF16,
}

impl Half {
    /// All, in declaration order.
    pub const ALL: [Self; 2] = [Self::F16, Self::BF16];

    pub fn memory(self) -> MemoryType {
        match self {
            Self::F16 => MemoryType::F16,
            Self::BF16 => MemoryType::BF16,
        }
    }

    /// The product that one instruction of a warp adds to sums, which are singles: `m16n8k16`.
    pub fn product(self) -> FragmentKind {
        let factors = match self {
            Self::F16 => FactorFormat::Half,
            Self::BF16 => FactorFormat::BFloat16,
        };
        FragmentKind { factors, ..FragmentKind::HALVES }
    }
}

/// Matrices of 8 rows of 8 elements that one access of a warp reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Matrices {
    /// One matrix.
    One,
    /// Two matrices.
    Two,
    /// Four matrices.
    Four,
}

impl Matrices {
    /// All, in declaration order.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Four];

    /// How many: the words that each lane receives.
    pub fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

/// How a shuffle picks the lane that it reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ShuffleMode {
    /// The lane whose index differs by the exclusive or with this mask.
    Xor(u32),
    /// The lane of this index.
    Broadcast(u32),
}

/// Ordering of an access to a synchronisation word, at device scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum MemoryOrder {
    /// No ordering of other accesses.
    Relaxed,
    /// A read that sees a release also sees what happened before that release.
    Acquire,
    /// An acquire that reads this write sees everything that happened before it.
    Release,
}

/// Words of a session's control block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ControlWord {
    /// The launch number, from 1; the last block to leave advances it.
    Epoch,
    /// Blocks that have left, over all launches.
    Left,
    /// Not 0 once a wait has timed out: every block leaves at its next wait.
    Abort,
}

/// Read-only `I32` tables that describe the plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Table {
    /// Per vEU, the index of its first instruction and the first operand of its first run.
    StreamStart,
    /// Four words an instruction.
    Instructions,
    /// The operands of the rOperators.
    Operands,
}

/// Read-only registers of a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum SpecialRegister {
    /// A clock that all blocks share, in nanoseconds modulo 2³². In the emulator instructions of all warps so far.
    Time,
    /// The multiprocessor that runs the block. In the emulator and on the host the block's number.
    Multiprocessor,
    /// Cycles of the multiprocessor modulo 2³². In the emulator and on the host what [`Self::Time`] is.
    Cycles,
}

/// Words that one thread copies at once of what is fetched.
pub const FETCHED_WORDS: u32 = 4;
