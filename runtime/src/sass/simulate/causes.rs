//! Why warps do not issue, and where the cycles of a block go.

/// Why a warp, or a scheduler, did not issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// The stall count: a result of fixed latency.
    Dependency,
    /// The way of a taken jump.
    Jump,
    /// A result of shared memory or a shuffle.
    Shared,
    /// A result of global memory.
    Global,
    /// A constant or a special register.
    Constant,
    /// A result of a pipe of variable latency: transcendental functions, conversions, doubles.
    Arithmetic,
    /// Operands that a memory instruction has not read yet.
    Operands,
    /// Other warps of the block.
    Barrier,
    /// A fence.
    Fence,
    /// A pipe, or the ports of the register file.
    Pipe,
    /// The queue of memory instructions.
    Queue,
    /// Another warp was issued.
    Turn,
    /// All warps of the scheduler have ended.
    Ended,
}

/// Causes.
pub const CAUSES: usize = 13;

impl Cause {
    /// All causes.
    pub const ALL: [Self; CAUSES] = [
        Self::Dependency,
        Self::Jump,
        Self::Shared,
        Self::Global,
        Self::Constant,
        Self::Arithmetic,
        Self::Operands,
        Self::Barrier,
        Self::Fence,
        Self::Pipe,
        Self::Queue,
        Self::Turn,
        Self::Ended,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
            Self::Jump => "jump",
            Self::Shared => "shared",
            Self::Global => "global",
            Self::Constant => "constant",
            Self::Arithmetic => "arithmetic",
            Self::Operands => "operands",
            Self::Barrier => "barrier",
            Self::Fence => "fence",
            Self::Pipe => "pipe",
            Self::Queue => "queue",
            Self::Turn => "turn",
            Self::Ended => "ended",
        }
    }
}

/// Cycles by cause.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cycles {
    by_cause: [u64; CAUSES],
}

impl Cycles {
    /// Adds cycles of a cause.
    pub fn add(&mut self, cause: Cause, cycles: u64) {
        self.by_cause[cause as usize] += cycles;
    }

    /// Half of each.
    pub fn halved(mut self) -> Self {
        self.by_cause.iter_mut().for_each(|cycles| *cycles /= 2);
        self
    }

    /// Cycles of a cause.
    pub fn of(&self, cause: Cause) -> u64 {
        self.by_cause[cause as usize]
    }

    /// Cycles of all causes.
    pub fn total(&self) -> u64 {
        self.by_cause.iter().sum()
    }

    /// The cause of most cycles.
    pub fn most(&self) -> Option<Cause> {
        Cause::ALL.into_iter().max_by_key(|cause| self.of(*cause)).filter(|cause| self.of(*cause) > 0)
    }
}

/// What one instruction cost, over all warps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct InstructionCost {
    /// How often it was issued.
    pub issues: u64,
    /// Cycles that warps stood before it.
    pub stalls: Cycles,
    /// Passes through the data path of shared memory and the first-level cache.
    pub wavefronts: u64,
}

/// One issue of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watched {
    /// The warp.
    pub warp: usize,
    /// Where the instruction stands in the program.
    pub place: usize,
    /// When it was issued.
    pub cycle: u64,
    /// When an instruction of memory had read its registers, which it does as the data path takes it; of others, when it was issued.
    pub read: u64,
}

/// The timing of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    /// From the first instruction until the last one has ended.
    pub cycles: u64,
    /// Instructions of warps that were issued.
    pub issues: u64,
    /// Cycles of all schedulers in which none was issued, by what the next one waited for.
    pub idle: Cycles,
    /// What each instruction of the program cost.
    pub instructions: Vec<InstructionCost>,
    /// The issues of the instructions that were to be watched, in their order.
    pub watched: Vec<Watched>,
}

impl Timing {
    /// The share of issue slots in which an instruction was issued.
    pub fn issue_share(&self, schedulers: u64) -> f64 {
        self.issues as f64 / (self.cycles * schedulers).max(1) as f64
    }
}
