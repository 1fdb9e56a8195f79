//! What a launch reports: violations as data, the status record of an abort, and statistics.

use std::fmt;
use std::ops::AddAssign;

use thiserror::Error;
use warpweave_plan::tables::Awaited;

use crate::kernel_ir::{GlobalSpace, KernelId, Location, Table};

/// Where a violation was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    pub block: u32,
    /// The warp in the block.
    pub warp: u32,
    /// The first lane that is concerned.
    pub lane: u32,
    pub location: Location,
    /// The kernel of a call, for a violation in it.
    pub kernel: Option<KernelId>,
    /// The number of the instruction in the compiled body.
    pub pc: u32,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} warp {} lane {}, {}, pc {}", self.block, self.warp, self.lane, self.location, self.pc)
    }
}

/// A warp of the grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpName {
    pub block: u32,
    /// The warp in the block.
    pub warp: u32,
}

impl fmt::Display for WarpName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} warp {}", self.block, self.warp)
    }
}

/// What two accesses of global memory are not ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlobalRace {
    /// This read, and the other's write.
    ReadAfterWrite,
    /// This write, and the other's write.
    WriteAfterWrite,
    /// This write, and the other's read.
    WriteAfterRead,
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Fault {
    /// An access outside a global space; the value read is poison, the write is dropped.
    #[error("{space:?} access of {bytes} bytes at byte {address} of {length}")]
    GlobalOutOfBounds {
        space: GlobalSpace,
        /// The first byte.
        address: i64,
        /// Bytes of the access.
        bytes: u32,
        /// Bytes of the space.
        length: usize,
    },
    /// A wide global access that is not aligned to its size.
    #[error("{space:?} access of {bytes} bytes at byte {address} is misaligned")]
    GlobalMisaligned {
        space: GlobalSpace,
        /// The first byte.
        address: i64,
        /// Bytes of the access.
        bytes: u32,
    },
    /// A read of arena bytes that neither the host nor this launch has written.
    #[error("arena byte {address} is read before it is written")]
    GlobalUninitialised {
        /// The first byte.
        address: usize,
    },
    /// A dispatch of a number that no kernel has.
    #[error("no kernel has the number {number}")]
    UnknownKernel { number: usize },
    /// Two accesses of the arena that nothing orders.
    #[error("arena byte {address}: {race:?} against {other} is not ordered")]
    GlobalRace {
        /// The first byte.
        address: usize,
        /// The kinds of the accesses.
        race: GlobalRace,
        /// Who made the other access.
        other: WarpName,
    },
    /// An access of the arena by a node whose warp has not waited for the node before it.
    #[error("arena byte {address} is touched before the node before has ended")]
    BeforeDependencies {
        /// The first byte.
        address: usize,
    },
    /// A read that looks at no tag, of bytes that carry their own validity.
    #[error("arena byte {address} carries its own validity and is read without a look at its tag")]
    TaggedMixed {
        /// The first byte.
        address: usize,
    },
    /// A value is written a second time with the tag of one launch.
    #[error("arena byte {address} is tagged twice")]
    TaggedTwice {
        /// The first byte.
        address: usize,
    },
    /// A value whose tag is polled for has been overwritten by one with a later tag.
    #[error("arena byte {address} bears a later tag than the one that is polled for")]
    TaggedOverwritten {
        /// The first byte.
        address: usize,
    },
    /// A tag of this launch that has not been written in it.
    #[error("arena byte {address} bears the tag of this launch before it is written")]
    TagStale {
        /// The first byte.
        address: usize,
    },
    /// All blocks wait, so the polled value is never written; the launch ends. One for each poll.
    #[error("deadlock: the tag of arena byte {address} is {seen}, polled for {wanted}")]
    PollDeadlock {
        /// The first byte of the value.
        address: usize,
        seen: u32,
        wanted: u32,
    },
    /// Two lanes of one store write the same byte.
    #[error("lanes {} and {} of one store write arena byte {address}", lanes.0, lanes.1)]
    GlobalOverlap {
        /// The first byte of the second lane's write.
        address: usize,
        lanes: (u32, u32),
    },
    /// An access outside a shared array.
    #[error("shared access of {count} elements at {index} of {length}")]
    SharedOutOfBounds {
        /// The first element.
        index: i64,
        /// The elements of the access.
        count: u32,
        /// The elements of the array.
        length: u32,
    },
    /// A wide shared access that is not aligned to its size.
    #[error("shared access of {count} elements at {index} is misaligned")]
    SharedMisaligned {
        /// The first element.
        index: i64,
        /// The elements of the access.
        count: u32,
    },
    /// A read of shared memory that the kernel has not written since it was entered.
    #[error("shared element {index} is read before it is written")]
    SharedUninitialised { index: i64 },
    /// An access of a shared element into which a copy is under way.
    #[error("shared element {index}: a copy into it is under way")]
    SharedInFlight { index: i64 },
    /// A kernel ends while copies into shared memory are under way.
    #[error("{groups} groups of copies are under way when the kernel ends")]
    CopiesInFlight {
        /// Groups, the open one included.
        groups: usize,
    },
    /// Two accesses of a shared element, one of them a write, without a barrier between them.
    #[error("shared element {index}: no barrier against thread {other:?}")]
    SharedRace {
        index: i64,
        /// The other thread of the block, if it is one.
        other: Option<u32>,
    },
    /// A register array is indexed outside its bounds.
    #[error("register array index {index} of {length}")]
    ArrayOutOfBounds { index: i64, length: u32 },
    /// A plan table is read outside its bounds.
    #[error("{table:?} word {index} of {length}")]
    TableOutOfBounds {
        table: Table,
        index: i64,
        /// The words.
        length: usize,
    },
    /// A counter that does not exist.
    #[error("counter {counter} of {counters}")]
    CounterOutOfBounds {
        counter: i32,
        /// The number of counters.
        counters: usize,
    },
    /// Some lanes of a warp reach a block barrier without the others, or some warps another barrier or none; the launch
    /// ends.
    #[error("a block barrier is not reached by all threads")]
    DivergentBarrier,
    /// An operation of all lanes of a warp, such as a shuffle, with inactive lanes.
    #[error("{operation} with active lanes {active:08x} only")]
    DivergentWarp { operation: &'static str, active: u32 },
    /// A selector, an argument, or a break that is not uniform in a warp; the launch ends.
    #[error("control flow that must be uniform diverges")]
    DivergentControl,
    /// All blocks wait, so no signal follows; the launch ends. One for each wait.
    #[error("deadlock: counter {counter} is {seen}, waiting for {wanted}")]
    Deadlock {
        counter: u32,
        /// Its value.
        seen: u32,
        wanted: u32,
    },
    /// More instructions than allowed; the launch ends.
    #[error("more than {limit} instructions")]
    StepBudget { limit: u64 },
}

/// A fault and where it was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Where.
    pub site: Site,
    /// What.
    pub fault: Fault,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.site, self.fault)
    }
}

/// What a block writes to the status buffer when a wait or a poll gives up because of the time limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusRecord {
    pub block: u32,
    /// What it waited for.
    pub awaited: Awaited,
    /// The counter's value, or the tag.
    pub seen: u32,
    /// The target, or the bits of the tag.
    pub wanted: u32,
}

/// Statistics of a launch, or of one body's share of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Instructions of the compiled program that warps executed.
    pub instructions: u64,
    /// Operations of active lanes in arithmetic instructions; 0 unless counting was asked for.
    pub lane_operations: u64,
    /// Those of them on `F32`, two a fused multiply-add; conversions and selections are none. With them two for each of
    /// [`Self::tensor_products`].
    pub float_operations: u64,
    /// Fused multiply-adds of active lanes; 0 unless asked for.
    pub multiply_adds: u64,
    /// Multiply-adds of products of matrices; 0 unless asked for.
    pub tensor_products: u64,
    /// 32-byte sectors that loads of global memory touch, summed over warp accesses; 0 unless asked for.
    pub load_sectors: u64,
    /// The same of stores.
    pub store_sectors: u64,
    /// Elements that lanes load from global memory; 0 unless asked for.
    pub global_loads: u64,
    /// Wavefronts of shared accesses, conflicts included; 0 unless asked for.
    pub shared_wavefronts: u64,
    /// Elements that lanes load from shared memory, of matrices words; 0 unless asked for.
    pub shared_loads: u64,
    /// Wavefronts of loads from shared memory, conflicts included; 0 unless asked for.
    pub shared_load_wavefronts: u64,
    /// What these would be without conflicts; 0 unless asked for.
    pub shared_load_ideal: u64,
    /// What the wavefronts of stores to shared memory would be without conflicts; 0 unless asked for.
    pub shared_store_ideal: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.lane_operations += other.lane_operations;
        self.float_operations += other.float_operations;
        self.multiply_adds += other.multiply_adds;
        self.tensor_products += other.tensor_products;
        self.load_sectors += other.load_sectors;
        self.store_sectors += other.store_sectors;
        self.global_loads += other.global_loads;
        self.shared_wavefronts += other.shared_wavefronts;
        self.shared_loads += other.shared_loads;
        self.shared_load_wavefronts += other.shared_load_wavefronts;
        self.shared_load_ideal += other.shared_load_ideal;
        self.shared_store_ideal += other.shared_store_ideal;
    }
}

/// The outcome of a launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchReport {
    /// The first violations.
    pub violations: Vec<Violation>,
    /// The number of violations, listed or not.
    pub total: u64,
    /// Whether every block ran to its end.
    pub completed: bool,
    /// Whether the abort flag is raised; the session must then be reset.
    pub aborted: bool,
    /// The record of the wait that timed out.
    pub status: Option<StatusRecord>,
    /// Statistics of all bodies together.
    pub counts: Counts,
    /// Statistics by kernel, in the order of the program's kernels.
    pub kernel_counts: Vec<Counts>,
}

impl LaunchReport {
    /// The outcome of this launch and of the one after it.
    pub fn then(mut self, next: Self) -> Self {
        self.violations.extend(next.violations);
        self.total += next.total;
        self.completed &= next.completed;
        self.aborted |= next.aborted;
        self.status = self.status.or(next.status);
        self.counts += next.counts;
        self.kernel_counts.iter_mut().zip(next.kernel_counts).for_each(|(own, next)| *own += next);
        self
    }

    /// Whether the launch ended regularly and nothing was reported.
    pub fn is_clean(&self) -> bool {
        self.completed && !self.aborted && self.total == 0
    }
}

impl fmt::Display for LaunchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.completed { "completed" } else { "stopped" };
        let abort = if self.aborted { ", aborted" } else { "" };
        writeln!(f, "{end}{abort}, {} violations", self.total)?;
        for violation in &self.violations {
            writeln!(f, "  {violation}")?;
        }
        Ok(())
    }
}
