//! The price of an rTask from the machine code of its kernel.

use std::collections::BTreeMap;

use warpweave_plan::tables::{CONTROL_WORDS, STATUS_WORDS, StreamStep, Tables, node_name};

use super::error::CodeError;
use super::evaluate::evaluate;
use super::evaluate::launch::Launch;
use super::machine::MachineModel;
use super::operation::Operation;
use super::program::MachineCode;
use super::simulate::{Cause, Cycles, InstructionCost, Surroundings, Timing, simulate};
use super::trace::Unknowns;
use crate::cubin::{CubinError, jump_tables};

/// A price that cannot be computed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PriceError {
    /// The code cannot be read, evaluated or timed.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The file cannot be read.
    #[error(transparent)]
    Cubin(#[from] CubinError),
}

/// How an rTask is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runner {
    /// From the stream of a persistent program.
    Stream,
    /// As a block of a kernel of its own.
    Node,
}

/// An rTask of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task {
    /// Position of the kernel in the program.
    pub kernel: u32,
    /// Position of its first operand.
    pub operands: u32,
    /// The tile.
    pub tile: u32,
    /// How it is run.
    pub runner: Runner,
}

/// A program whose rTasks are to be priced.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The file.
    pub cubin: &'a [u8],
    /// Its instructions.
    pub code: &'a MachineCode,
    /// The operands of all rOperators.
    pub operands: &'a [i32],
    /// Threads of a block.
    pub threads: u32,
    /// The entry that walks streams.
    pub entry: &'a str,
    /// The multiprocessor.
    pub machine: &'a MachineModel,
    /// Where data is, and who else loads.
    pub surroundings: Surroundings,
}

/// What an rTask costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskPrice {
    /// From its dispatch to the block barrier behind it, or of the whole block of a node.
    pub cycles: u64,
    /// Instructions of warps.
    pub issues: u64,
    /// Cycles of all schedulers without an issue, by what the next instruction waited for.
    pub idle: Cycles,
    /// Issues of each operation, most first.
    pub mix: Vec<(Operation, u64)>,
    /// What could not be known.
    pub unknowns: Unknowns,
    /// What each instruction of the program cost.
    pub instructions: Vec<InstructionCost>,
}

impl TaskPrice {
    /// The share of the issues that an operation has.
    pub fn share(&self, operation: Operation) -> f64 {
        let issues = self.mix.iter().find(|(other, _)| *other == operation).map_or(0, |(_, issues)| *issues);
        issues as f64 / self.issues.max(1) as f64
    }

    /// The share of the issue slots of all schedulers that were used.
    pub fn issue_share(&self, machine: &MachineModel) -> f64 {
        self.issues as f64 / (self.cycles * machine.schedulers.value).max(1) as f64
    }

    /// What most cycles without an issue waited for.
    pub fn waits_for(&self) -> Option<Cause> {
        self.idle.most()
    }
}

const ARENA: u64 = 0x10_0000_0000;
const WEIGHTS: u64 = 0x20_0000_0000;
const STREAM_START: u64 = 0x30_0000_0000;
const INSTRUCTIONS: u64 = 0x31_0000_0000;
const OPERANDS: u64 = 0x32_0000_0000;
const CONTROL: u64 = 0x33_0000_0000;
const COUNTERS: u64 = 0x34_0000_0000;
const STATUS: u64 = 0x35_0000_0000;
const TIME_LIMIT_NS: u64 = 1_000_000_000;
const JUMP_TABLE_BANK: u8 = 2;
/// Blocks of the grid; whatever it is, the block is not the last to leave.
const BLOCKS: u32 = 132;

/// The price of one rTask that has nothing to wait for, dispatch included.
///
/// Of a stream it is what a stream with the rTask takes beyond an empty one.
pub fn price(subject: &Subject<'_>, task: Task) -> Result<TaskPrice, PriceError> {
    let (with, unknowns) = match task.runner {
        Runner::Stream => stream(subject, &[task])?,
        Runner::Node => node(subject, task)?,
    };
    let without = match task.runner {
        Runner::Stream => Some(stream(subject, &[])?.0),
        Runner::Node => None,
    };
    let base = |figure: fn(&Timing) -> u64| without.as_ref().map_or(0, figure);
    let mut idle = Cycles::default();
    for cause in Cause::ALL {
        let own = with.idle.of(cause);
        idle.add(cause, own.saturating_sub(without.as_ref().map_or(0, |without| without.idle.of(cause))));
    }
    let mut mix: BTreeMap<Operation, u64> = BTreeMap::new();
    for (place, cost) in with.instructions.iter().enumerate() {
        let before = without.as_ref().map_or(0, |without| without.instructions[place].issues);
        if cost.issues > before {
            *mix.entry(subject.code.code[place].operation).or_default() += cost.issues - before;
        }
    }
    let mut mix: Vec<(Operation, u64)> = mix.into_iter().collect();
    mix.sort_by_key(|(operation, issues)| (std::cmp::Reverse(*issues), *operation));
    Ok(TaskPrice {
        cycles: with.cycles.saturating_sub(base(|timing| timing.cycles)),
        issues: mix.iter().map(|(_, issues)| issues).sum(),
        idle,
        mix,
        unknowns,
        instructions: with.instructions,
    })
}

fn words(pointers: &[u64]) -> Vec<u32> {
    pointers.iter().flat_map(|pointer| [*pointer as u32, (*pointer >> 32) as u32]).collect()
}

fn unsigned(words: &[i32]) -> Vec<u32> {
    words.iter().map(|word| *word as u32).collect()
}

/// A block of the entry that walks a stream of these rTasks.
fn stream(subject: &Subject<'_>, tasks: &[Task]) -> Result<(Timing, Unknowns), PriceError> {
    let pointers = [ARENA, WEIGHTS, STREAM_START, INSTRUCTIONS, OPERANDS, CONTROL, COUNTERS, STATUS, TIME_LIMIT_NS];
    let mut launch = Launch::new(subject.threads, 0, BLOCKS, &words(&pointers));
    let run = |task: &Task| {
        let Task { kernel, operands, tile, .. } = *task;
        StreamStep::Run { kernel, operands, tile, waits: 0 }
    };
    let mut tables = Tables::default();
    tables.push_stream(&tasks.iter().map(run).collect::<Vec<StreamStep>>());
    tables.close();
    let mut control = vec![0; CONTROL_WORDS];
    control[0] = 1;
    launch.memory.add(STREAM_START, unsigned(&tables.stream_start));
    launch.memory.add(INSTRUCTIONS, unsigned(&tables.instructions));
    launch.memory.add(CONTROL, control);
    timed(subject, subject.entry, launch)
}

/// A block of the entry of a kernel as a node.
fn node(subject: &Subject<'_>, task: Task) -> Result<(Timing, Unknowns), PriceError> {
    let mut parameters = words(&[ARENA, WEIGHTS, OPERANDS]);
    parameters.extend([task.operands, 0]);
    parameters.extend(words(&[STATUS]));
    let launch = Launch::new(subject.threads, task.tile, task.tile + 1, &parameters);
    timed(subject, &node_name(task.kernel), launch)
}

fn timed(subject: &Subject<'_>, entry: &str, mut launch: Launch) -> Result<(Timing, Unknowns), PriceError> {
    launch.memory.add(OPERANDS, unsigned(subject.operands));
    launch.memory.add(STATUS, vec![0; STATUS_WORDS]);
    launch.set_bytes(JUMP_TABLE_BANK, 0, jump_tables(subject.cubin, entry)?);
    let trace = evaluate(subject.code, entry, &mut launch)?;
    let timing = simulate(subject.code, &trace, subject.machine, subject.surroundings, &[])?;
    Ok((timing, trace.unknowns))
}
