//! What warps of a block execute, in order: the link between evaluation and timing.

/// An executed instruction of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The place of the instruction in the program.
    pub place: u32,
    /// What evaluation found out about it.
    pub effect: Effect,
}

/// What evaluation found out about an executed instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: its cost depends on the instruction alone.
    None,
    /// No lane executes it: it is issued and does nothing.
    Skipped,
    /// A jump that is taken.
    Taken,
    /// An access to shared memory, or a shuffle.
    Shared {
        /// Passes through the data path.
        wavefronts: u16,
    },
    /// An access to global memory.
    Global {
        /// Passes through the first-level cache's data path.
        wavefronts: u16,
        /// Sectors of 32 bytes.
        sectors: u16,
        /// The place of the first in [`Trace::sectors`].
        first: u32,
    },
}

/// What could not be known, counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unknowns {
    /// Jumps on what was polled; each took the way that ends the poll.
    pub polls: u64,
    /// Jumps on data; each went where ordinary elements lead.
    pub jumps: u64,
    /// Instructions of which it depends on data whether they are executed; each was.
    pub guards: u64,
    /// Accesses at addresses that depend on data in no way that is followed, taken as a sector or a bank of its own for each lane.
    pub addresses: u64,
}

/// What all warps of a block execute.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    /// Steps of each warp.
    pub warps: Vec<Vec<Step>>,
    /// The sectors that accesses to global memory touch, each access's consecutive, by their number.
    pub sectors: Vec<u64>,
    /// Steps of all warps together.
    pub count: usize,
    /// What could not be known.
    pub unknowns: Unknowns,
}
