//! A launch: all blocks of a grid on threads of this machine.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::block::{Block, Grid};
use super::constants::Constants;
use super::fault::{Fault, FaultKind};
use super::image::{Image, LoadError};
use super::memory::global::GlobalMemory;
use super::memory::weak::WeakState;

/// A grid of blocks of an entry.
#[derive(Clone, Copy, Debug)]
pub struct GridLaunch<'a> {
    /// The entry's symbol.
    pub entry: &'a str,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block, a multiple of a warp's.
    pub threads: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The parameters, as the entry takes them.
    pub parameters: &'a [u8],
    /// Whether blocks wait for one another.
    pub residency: Residency,
}

/// Which blocks of a grid must run side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Residency {
    /// All of them: they wait for one another.
    AllAtOnce,
    /// Any.
    AsRoomAllows,
}

/// How machine code is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecuteOptions {
    /// Threads of this machine.
    pub workers: usize,
    /// With a seed, the order of blocks and warps is drawn from it, and memory is as weak as its model allows.
    pub weak: Option<u64>,
    /// A block that goes on only while no other can.
    pub starved: Option<u32>,
    /// With a seed, results of approximate functions are moved inside of their documented errors.
    pub nudge: Option<u64>,
    /// Instructions that a warp may execute in a launch.
    pub limit: u64,
}

impl Default for ExecuteOptions {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Self { workers, weak: None, starved: None, nudge: None, limit: DEFAULT_LIMIT }
    }
}

/// More than any program of ours executes; a loop that never ends is told by it.
const DEFAULT_LIMIT: u64 = 1 << 36;
const TURN: u64 = 4096;
const SHORT_TURN: u64 = 8;
/// Rounds in which no other block has moved before a starved one does: what a poll has found shows in the next.
const PATIENCE: u32 = 4;
const MOST_THREADS: u32 = 1024;

/// A failed launch.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The launch does not fit the code.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The grid or its blocks have a size that no device takes.
    #[error("a grid of {blocks} blocks of {threads} threads is not possible")]
    Size {
        /// Blocks of the grid.
        blocks: u32,
        /// Threads of each.
        threads: u32,
    },
    /// An instruction faults.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// What a launch has executed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaunchCounts {
    /// Instructions of warps.
    pub instructions: u64,
}

impl Image {
    /// Runs a grid to its end.
    pub fn launch(
        &self,
        memory: &GlobalMemory,
        launch: &GridLaunch<'_>,
        options: &ExecuteOptions,
    ) -> Result<LaunchCounts, LaunchError> {
        let &GridLaunch { entry, blocks, threads, parameters, .. } = launch;
        if blocks == 0 || threads == 0 || threads > MOST_THREADS || !threads.is_multiple_of(32) {
            return Err(LaunchError::Size { blocks, threads });
        }
        let constants = self.constants(entry, threads, blocks, parameters)?;
        let start = self.start(entry)?;
        let alone = options.weak.is_some() || options.starved.is_some();
        let workers = if alone { 1 } else { options.workers.clamp(1, blocks as usize) };
        let shared = Shared {
            image: self,
            memory,
            constants: &constants,
            launch,
            options,
            start,
            next: AtomicU32::new(0),
            moves: AtomicU64::new(0),
            quiet: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            clock: AtomicU64::new(0),
            instructions: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            fault: Mutex::new(None),
        };
        std::thread::scope(|scope| {
            for worker in 1..workers {
                let shared = &shared;
                scope.spawn(move || shared.work(worker, workers));
            }
            shared.work(0, workers);
        });
        let fault = shared.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
        match fault {
            Some(fault) => Err(LaunchError::Fault(fault)),
            None => Ok(LaunchCounts { instructions: shared.instructions.into_inner() }),
        }
    }
}

/// What the workers of a launch share.
struct Shared<'a> {
    image: &'a Image,
    memory: &'a GlobalMemory,
    constants: &'a Constants,
    launch: &'a GridLaunch<'a>,
    options: &'a ExecuteOptions,
    start: usize,
    /// The next block that has no worker.
    next: AtomicU32,
    /// Turns in which a warp did more than poll.
    moves: AtomicU64,
    /// Of each worker, the number of events before its last round if that round added none, plus one.
    quiet: Vec<AtomicU64>,
    /// Nanoseconds that passed while no block went on.
    clock: AtomicU64,
    instructions: AtomicU64,
    has_failed: AtomicBool,
    fault: Mutex<Option<Box<Fault>>>,
}

/// Rounds without an event after which blocks wait. In fewer they may find one after another what they poll as it was before, and go
/// on; and where turns are drawn, none may have had one.
const QUIET_ROUNDS: u32 = 16;
/// While no block goes on, so much time passes a round: waits that can give up do so soon.
const IDLE_NANOSECONDS: u64 = 100_000_000;
/// After so much of it no wait gives up any more.
const MOST_IDLE_NANOSECONDS: u64 = 1_000_000 * IDLE_NANOSECONDS;
const DONE: u64 = u64::MAX;

impl Shared<'_> {
    fn work(&self, worker: usize, workers: usize) {
        if let Err(fault) = self.run_blocks(worker, workers) {
            self.has_failed.store(true, Ordering::Relaxed);
            let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|other| fault.block < other.block) {
                *first = Some(fault);
            }
        }
        self.quiet[worker].store(DONE, Ordering::Relaxed);
    }

    fn run_blocks(&self, worker: usize, workers: usize) -> Result<(), Box<Fault>> {
        let mut random = Random(self.options.weak.unwrap_or(0).wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let mut resident: Vec<Block> = match self.launch.residency {
            Residency::AllAtOnce => {
                (worker as u32..self.launch.blocks).step_by(workers).map(|number| self.block(number)).collect()
            }
            Residency::AsRoomAllows => self.next_block().into_iter().collect(),
        };
        let (mut quiet_rounds, mut still) = (0, 0);
        while !resident.is_empty() && !self.has_failed.load(Ordering::Relaxed) {
            let before = self.events();
            let drifts = quiet_rounds == 0;
            let first = if self.options.weak.is_some() { random.below(resident.len()) } else { 0 };
            let count = resident.len();
            let mut has_moved = false;
            let is_starved = |block: &Block| Some(block.position().0) == self.options.starved;
            for position in 0..count {
                let block = &mut resident[(first + position) % count];
                if !is_starved(block) {
                    has_moved |= self.round(block, &mut random, drifts)?;
                }
            }
            still = if has_moved { 0 } else { still + 1 };
            let starved = resident.iter_mut().find(|block| is_starved(block));
            if let Some(block) = starved.filter(|_| still >= PATIENCE || count == 1) {
                has_moved |= self.starved_round(block)?;
            }
            self.moves.fetch_add(u64::from(has_moved), Ordering::Relaxed);
            if resident.iter().all(Block::have_warps_ended) {
                let grid = self.grid(TURN, drifts);
                resident.iter_mut().for_each(|block| block.drain(&grid));
            }
            resident.retain(|block| {
                if block.has_ended() {
                    self.instructions.fetch_add(block.steps(), Ordering::Relaxed);
                }
                !block.has_ended()
            });
            if self.launch.residency == Residency::AsRoomAllows && resident.is_empty() {
                resident.extend(self.next_block());
            }
            let is_quiet = self.events() == before && !resident.is_empty();
            quiet_rounds = if is_quiet { quiet_rounds + 1 } else { 0 };
            if quiet_rounds >= QUIET_ROUNDS {
                self.rest(worker, before, &resident)?;
            }
        }
        Ok(())
    }

    fn round(&self, block: &mut Block, random: &mut Random, drifts: bool) -> Result<bool, Box<Fault>> {
        let first = if self.options.weak.is_some() { random.below(32) } else { 0 };
        block.round(&self.grid(TURN, drifts), self.clock.load(Ordering::Relaxed), first)
    }

    /// A few instructions of a block that goes on only while no other can.
    fn starved_round(&self, block: &mut Block) -> Result<bool, Box<Fault>> {
        block.round(&self.grid(SHORT_TURN, false), self.clock.load(Ordering::Relaxed), 0)
    }

    fn grid(&self, turn: u64, drifts: bool) -> Grid<'_> {
        let &Self { image, constants, memory, options, .. } = self;
        Grid { image, constants, memory, nudge: options.nudge, turn, drifts, limit: options.limit }
    }

    /// Whatever shows that a block goes on.
    fn events(&self) -> u64 {
        self.moves.load(Ordering::Relaxed).wrapping_add(self.memory.changes())
    }

    /// Lets time pass if every worker has gone round since the last event.
    fn rest(&self, worker: usize, events: u64, resident: &[Block]) -> Result<(), Box<Fault>> {
        self.quiet[worker].store(events.wrapping_add(1), Ordering::Relaxed);
        let all_rest = self.quiet.iter().all(|quiet| match quiet.load(Ordering::Relaxed) {
            DONE => true,
            quiet => quiet == events.wrapping_add(1),
        });
        if !all_rest {
            std::thread::yield_now();
            return Ok(());
        }
        self.moves.fetch_add(1, Ordering::Relaxed);
        let passed = self.clock.fetch_add(IDLE_NANOSECONDS, Ordering::Relaxed);
        match resident.first() {
            Some(block) if passed > MOST_IDLE_NANOSECONDS => Err(block.stalled(self.image)),
            _ => Ok(()),
        }
    }

    fn next_block(&self) -> Option<Block> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.launch.blocks).then(|| self.block(number))
    }

    fn block(&self, number: u32) -> Block {
        let weak = self.options.weak.map(|seed| WeakState::new(seed ^ u64::from(number) << 32));
        let &GridLaunch { threads, shared_bytes, .. } = self.launch;
        Block::new(number, threads, (self.start, self.image.reserved_shared()), shared_bytes, weak)
    }
}

impl Block {
    /// What is said of a block that waits for ever.
    fn stalled(&self, image: &Image) -> Box<Fault> {
        let (block, warp, place) = self.position();
        Box::new(Fault { kind: FaultKind::Stalled, site: image.site(place), block, warp })
    }
}

/// Numbers of a seed (Marsaglia, Xorshift RNGs).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }
}
