//! What machine code must not do, and what is said of it.

use std::fmt;

/// An instruction that a device would fault at, or whose result would depend on chance.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("block {block}, warp {warp}: {kind} at {site}")]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Where.
    pub site: Site,
    /// The block of the grid.
    pub block: u32,
    /// The warp of the block.
    pub warp: usize,
}

/// An instruction of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The function's symbol.
    pub function: String,
    /// Bytes from its start.
    pub offset: u64,
    /// The instruction as printed.
    pub text: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x} `{}`", self.function, self.offset, self.text)
    }
}

/// A memory that an access names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// What all blocks share.
    Global,
    /// What the threads of a block share.
    Shared,
    /// What a thread has for itself.
    Local,
    /// A constant bank.
    Constant(u8),
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global memory"),
            Self::Shared => f.write_str("shared memory"),
            Self::Local => f.write_str("local memory"),
            Self::Constant(bank) => write!(f, "constant bank {bank}"),
        }
    }
}

/// What a lane reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The lane of the warp.
    pub lane: usize,
    /// The address of the first byte.
    pub address: u64,
    /// How many bytes, from 1 to 16.
    pub bytes: u32,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lane {} accesses {} bytes at {:#x}", self.lane, self.bytes, self.address)
    }
}

/// A byte of a buffer, or the buffer's size: its name and a number.
pub type InBuffer = Option<(&'static str, u64)>;

/// What is wrong with an instruction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FaultKind {
    /// An access outside of what was allocated: beyond the buffer that begins before it, of that size.
    #[error("{0} of {1}, {place}", place = near(.2))]
    Outside(Access, Space, InBuffer),
    /// An address that is no multiple of what is accessed there.
    #[error("{0} of {1}, which is no multiple of them")]
    Misaligned(Access, Space),
    /// A load of bytes that nothing has written.
    #[error("{0} of {1}{place}, where nothing was written", place = within(.2))]
    Unwritten(Access, Space, InBuffer),
    /// A store to what the launch only reads.
    #[error("{0} of {1}{place}, which a launch only reads", place = within(.2))]
    ReadOnly(Access, Space, InBuffer),
    /// A barrier at which some threads of a block wait for others that never come.
    #[error("threads wait at a barrier that {missing} threads of their warp never reach")]
    Barrier {
        /// Threads that do not come.
        missing: u32,
    },
    /// Lanes of a warp that wait for each other.
    #[error("lanes {lanes:#010x} of the warp never come together")]
    Converge {
        /// Those that wait.
        lanes: u32,
    },
    /// A jump to an address where no instruction is.
    #[error("a jump goes to {0:#x}, where no instruction is")]
    Jump(u64),
    /// An instruction that the executor does not know.
    #[error("the instruction is not executed: {reason}")]
    Unknown {
        /// Which part of the instruction is not known.
        reason: String,
    },
    /// A warp that executes more than a launch may.
    #[error("the warp executes too many instructions")]
    TooLong,
    /// Blocks that wait for each other, and no wait gives up.
    #[error("no block goes on, and no wait gives up")]
    Stalled,
    /// A trap of the code itself.
    #[error("the code stops itself")]
    Trap,
}

fn near(inside: &InBuffer) -> String {
    match inside {
        Some((name, bytes)) => format!("outside of {name}, which has {bytes} bytes"),
        None => "where nothing is allocated".to_owned(),
    }
}

fn within(inside: &InBuffer) -> String {
    inside.map_or_else(String::new, |(name, offset)| format!(", byte {offset} of {name}"))
}
