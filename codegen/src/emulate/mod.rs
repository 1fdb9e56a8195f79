//! The emulator: what kernel IR means, on the CPU.
//!
//! It runs the launches of a program one after another: persistent segments and nodes of a graph. It runs a warp at a
//! time over 32-lane registers. It reports what no correct program does on any interleaving that the memory model of
//! the target allows:
//! - global memory is weak: every warp has a vector clock, joined only by block barriers, by acquiring waits that read
//!   releasing signals, and by additions to control words. A wait is sure to see the signals up to its target and no
//!   more. An access of the arena must be ordered after the last write, and a write also after the reads since. An
//!   access that is not is reported whatever the order in which the emulator happened to run things, and gives poison;
//! - shared memory is undefined when a kernel is entered, kept arrays when a launch begins. Between warps only block
//!   barriers order accesses of shared memory. Between lanes of a warp, warp barriers and shuffles do so too, but
//!   loads and products of matrices do not;
//! - a value that carries its own validity is polled until its tag is this launch's; that orders nothing else, and no
//!   other access may touch its bytes;
//! - a node touches the arena only after its wait for the node before it, which makes everything of that node visible;
//! - barriers must be reached by all threads, warp operations by all lanes, and what is block-uniform must be.
//!
//! Clocks are kept for warps, not for lanes. So a missing barrier between lanes of one warp is seen in shared memory,
//! but not in the arena. Protocols should therefore be tested with several warps a block.
//!
//! Floating point is that of CUDA without fast mathematics: one rounding per operation, subnormals kept. The
//! transcendental functions are those of `libm`, within a few units in the last place of CUDA's. Products of matrices
//! have the sums of the tensor cores that [`LaunchOptions`] names.

mod bytecode;
mod compile;
pub mod mutate;
mod options;
pub mod random;
pub mod report;
mod warp;
mod world;

use std::collections::BTreeMap;
use std::ops::Range;

use thiserror::Error;
use warpweave_graph::arena::Id;
use warpweave_plan::tables::{INSTRUCTION_WORDS, Launch, NodeLaunch, OPCODE_SIGNAL, StreamLaunch, Tables};

use crate::kernel_ir::{Body, Function, KernelId, Program, WARP_SIZE};
use crate::verify::{self, Violation as IrViolation};

pub use options::{Control, LaunchOptions, UnorderedValue};
pub use report::{Counts, Fault, GlobalRace, LaunchReport, Site, StatusRecord, Violation, WarpName};

use bytecode::Compiled;
use compile::{SharedBases, emulated_words};

use random::Random;
use warp::schedule::Scheduler;
use world::clock::Clocks;
use world::memory::global::Arena;
use world::memory::shared::Shared;
use world::{BlockState, Counter, World};

/// Why a program cannot be emulated.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PrepareError {
    /// The program is malformed.
    #[error("the program is malformed, first: {}", .0[0])]
    Malformed(Vec<IrViolation>),
    /// A node runs a kernel that is no node of the program.
    #[error("a node runs kernel {0}, which is no node of the program")]
    UnknownKernel(u32),
    /// Streams are launched, and the program has nothing that walks them.
    #[error("streams are launched, and the program has no entry that walks them")]
    NoStreamEntry,
    /// A body has too many instructions after unrolling.
    #[error("{0} is too large after unrolling")]
    TooLarge(Body),
}

/// A session of a program on an emulated device: memory, counters and control words that outlive launches.
pub struct Device<'a> {
    compiled: Compiled,
    launches: Vec<Launched>,
    warps_per_block: usize,
    shared_words: usize,
    tables: &'a Tables,
    weights: &'a [u8],
    /// Whether kernels exchange values that carry their own validity.
    exchanges: bool,
    arena: Arena,
    /// The counters, as the next launch finds them.
    pub counters: Vec<u32>,
    /// Per persistent segment, its control words, as the next launch finds them.
    pub controls: Vec<Control>,
}

impl<'a> Device<'a> {
    /// Compiles `program` for the launches of its tables, with zeroed arena and counters, at epoch 1.
    ///
    /// The structure of the program must be sound ([`verify::structure`]); whether its control flow is uniform is left
    /// to the run.
    pub fn new(
        program: &Program,
        tables: &'a Tables,
        weights: &'a [u8],
        arena_bytes: usize,
        counters: usize,
    ) -> Result<Self, PrepareError> {
        let violations = verify::structure(program);
        if !violations.is_empty() {
            return Err(PrepareError::Malformed(violations));
        }
        let kept = |kernel: &Function| kernel.kept.map_or(0, |kept| emulated_words(&kernel.shared[kept]));
        let resident_words = program.kernels.values().map(kept).max().unwrap_or(0);
        let bases = SharedBases { kept: 0, own: resident_words, own_bytes: program.resident_bytes() };
        let mut kernels = Vec::new();
        for (id, kernel) in program.kernels.iter() {
            let body = Body::Kernel(id);
            kernels.push(compile::compile(body, kernel, bases).ok_or(PrepareError::TooLarge(body))?);
        }
        let kernel_words = resident_words + kernels.iter().map(|kernel| kernel.shared_words).max().unwrap_or(0);
        let bases = SharedBases { kept: 0, own: kernel_words, own_bytes: 0 };
        let mut entries = Vec::new();
        let mut positions: BTreeMap<Body, usize> = BTreeMap::new();
        for (body, entry) in program.entries() {
            positions.insert(body, entries.len());
            entries.push(compile::compile(body, entry, bases).ok_or(PrepareError::TooLarge(body))?);
        }
        let launches: Result<Vec<Launched>, PrepareError> = launched(tables, &positions).collect();
        let launches = launches?;
        let entry_words = entries.iter().map(|entry| entry.shared_words).max().unwrap_or(0);
        let shared_words = (kernel_words + entry_words) as usize;
        let exchanges = kernels.iter().any(|kernel| !kernel.tagged_values.is_empty());
        Ok(Self {
            compiled: Compiled { entries, launched: 0, kernels },
            launches,
            warps_per_block: (program.threads / WARP_SIZE) as usize,
            shared_words,
            tables,
            weights,
            exchanges,
            arena: Arena::new(arena_bytes),
            counters: vec![0; counters],
            controls: tables.streams().map(|_| Control { epoch: 1, left: 0, abort: 0 }).collect(),
        })
    }

    /// Sets counters and control words to what they are before launch number `epoch` if all launches so far were
    /// regular. With 1, this is the zeroing that an aborted session needs. Where values carry their own validity, the
    /// arena's contents are lost: every tag is that of the launch before.
    pub fn restart(&mut self, epoch: u32) {
        let launches = epoch.wrapping_sub(1);
        if self.exchanges {
            let tagged = [[0; 4], launches.to_le_bytes()].concat();
            self.arena.bytes.chunks_exact_mut(tagged.len()).for_each(|element| element.copy_from_slice(&tagged));
        }
        self.counters.fill(0);
        for instruction in self.tables.instructions.chunks_exact(INSTRUCTION_WORDS) {
            if instruction[0] == OPCODE_SIGNAL
                && let Some(counter) = self.counters.get_mut(instruction[1] as usize)
            {
                *counter = counter.wrapping_add(launches);
            }
        }
        for (control, streams) in self.controls.iter_mut().zip(self.tables.streams()) {
            *control = Control { epoch, left: launches.wrapping_mul(streams.blocks), abort: 0 };
        }
    }

    /// The bytes of the arena.
    pub fn arena(&self) -> &[u8] {
        &self.arena.bytes
    }

    /// The bytes of the arena, for the host to write inputs.
    pub fn arena_mut(&mut self) -> &mut [u8] {
        &mut self.arena.bytes
    }

    /// Runs the program once. Of the arena, only the byte ranges `initialised` hold values at the start.
    pub fn launch(&mut self, initialised: &[Range<usize>], options: &LaunchOptions) -> LaunchReport {
        let only = match self.launches.as_slice() {
            [Launched { blocks, kind: LaunchKind::Streams { .. }, .. }] => *blocks,
            _ => 0,
        };
        self.arena.start(initialised, only * self.warps_per_block);
        let kernel_counts = vec![Counts::default(); self.compiled.kernels.len()];
        let mut report = LaunchReport { completed: true, kernel_counts, ..LaunchReport::default() };
        for number in 0..self.launches.len() {
            let launched = self.launches[number];
            if only == 0 {
                self.arena.pass();
            }
            let seed = options.seed.wrapping_add((number as u64) << 32);
            report = report.then(self.run(launched, &LaunchOptions { seed, ..*options }));
            if !report.is_clean() {
                break;
            }
        }
        report
    }

    /// Runs the blocks of a grid to their ends.
    fn run(&mut self, Launched { entry, blocks, kind }: Launched, options: &LaunchOptions) -> LaunchReport {
        let warps = blocks * self.warps_per_block;
        self.compiled.launched = entry;
        let clocks = Clocks::new(blocks, self.warps_per_block);
        let mut none = Control { epoch: 0, left: 0, abort: 0 };
        let (control, clocks, first_stream, first_operand) = match kind {
            LaunchKind::Streams { segment, first } => (&mut self.controls[segment], clocks, first, 0),
            LaunchKind::Node { first_operand } => (&mut none, clocks.with_dependencies(), 0, first_operand),
        };
        let mut world = World {
            arena: &mut self.arena,
            weights: self.weights,
            tables: self.tables,
            control,
            counters: self.counters.iter().map(|&value| Counter::new(value)).collect(),
            control_seen: vec![vec![0; warps]; 3],
            blocks: (0..blocks)
                .map(|_| BlockState { shared: Shared::new(self.shared_words), phase: 1, arrived: 0, done: 0 })
                .collect(),
            clocks,
            first_stream,
            first_operand,
            warps_per_block: self.warps_per_block,
            random: Random::new(options.seed),
            options: *options,
            counts: vec![Counts::default(); self.compiled.kernels.len() + 1],
            running: 0,
            report: LaunchReport::default(),
            woken: Vec::new(),
            stopped: false,
            waits: 0,
            polls: 0,
            polling: BTreeMap::new(),
        };
        let scheduler =
            Scheduler::new(&self.compiled, blocks, self.warps_per_block, options.starved, &mut world.random);
        let completed = blocks == 0 || scheduler.run(&mut world);
        let aborted = world.control.abort != 0;
        let mut report = std::mem::take(&mut world.report);
        for (value, counter) in self.counters.iter_mut().zip(&world.counters) {
            *value = counter.value;
        }
        report.counts = Counts::default();
        world.counts.iter().for_each(|counts| report.counts += *counts);
        report.kernel_counts = world.counts.split_off(1);
        report.completed = completed;
        report.aborted = aborted;
        report
    }
}

/// A launch, and the entry that it runs.
#[derive(Clone, Copy)]
struct Launched {
    entry: usize,
    blocks: usize,
    kind: LaunchKind,
}

#[derive(Clone, Copy)]
enum LaunchKind {
    /// A persistent segment, by its position among those.
    Streams {
        segment: usize,
        first: usize,
    },
    Node {
        first_operand: u32,
    },
}

/// The launches that tables ask for, of a program whose entries stand at these positions.
fn launched(
    tables: &Tables,
    positions: &BTreeMap<Body, usize>,
) -> impl Iterator<Item = Result<Launched, PrepareError>> {
    let mut segment = 0;
    tables.launches.iter().map(move |launch| match *launch {
        Launch::Streams(StreamLaunch { first_stream, blocks }) => {
            let entry = *positions.get(&Body::Entry).ok_or(PrepareError::NoStreamEntry)?;
            let kind = LaunchKind::Streams { segment, first: first_stream as usize };
            segment += 1;
            Ok(Launched { entry, blocks: blocks as usize, kind })
        }
        Launch::Node(NodeLaunch { kernel, operands, blocks }) => {
            let entry = positions.get(&Body::Node(KernelId::from_index(kernel as usize)));
            let entry = *entry.ok_or(PrepareError::UnknownKernel(kernel))?;
            Ok(Launched { entry, blocks: blocks as usize, kind: LaunchKind::Node { first_operand: operands } })
        }
    })
}
