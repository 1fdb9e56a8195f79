//! The price of an rTask from the machine code of its kernel.

use std::collections::BTreeMap;

use warpweave_plan::tables::{CONTROL_WORDS, STATUS_WORDS, StreamStep, Tables, node_name};

use super::error::CodeError;
use super::evaluate::evaluate;
use super::evaluate::launch::Launch;
use super::evaluate::value::LANES;
use super::machine::MachineModel;
use super::operation::Operation;
use super::program::{INSTRUCTION_BYTES, MachineCode};
use super::simulate::{Cause, Cycles, InstructionCost, Surroundings, Timing, Watched, simulate};
use super::trace::Unknowns;
use crate::cubin::{CubinError, function_tables, jump_tables};

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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Runner {
    /// From the stream of a persistent program.
    Stream,
    /// As a block of a kernel of its own.
    Node,
}

/// An rTask of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Task<'c> {
    /// Position of the kernel in the program.
    pub kernel: u32,
    /// Position of its first operand.
    pub operands: u32,
    /// The tile.
    pub tile: u32,
    /// How it is run.
    pub runner: Runner,
    /// Positions of the first operands of the rTasks that its call runs, in their order; empty for it alone.
    pub call: &'c [u32],
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
    /// That of one rTask, of what two take.
    fn halved(mut self) -> Self {
        self.issues /= 2;
        self.idle = self.idle.halved();
        self.mix.iter_mut().for_each(|(_, issues)| *issues /= 2);
        self
    }

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
const FUNCTION_TABLE_BANK: u8 = 3;
/// Blocks of the grid; whatever it is, the block is not the last to leave.
const BLOCKS: u32 = 132;

/// The price of one rTask that has nothing to wait for, dispatch included.
///
/// Of a stream it is what a stream with the rTask takes beyond an empty one. Of a call of several rTasks it is an even share
/// of what the call takes: the first, and each further as what four take beyond two.
pub fn price(subject: &Subject<'_>, task: Task<'_>) -> Result<TaskPrice, PriceError> {
    match (task.runner, task.call.len()) {
        (Runner::Stream, ..MOST_TIMED) => beyond(stream(subject, Some(task))?, Some(stream(subject, None)?.0), subject),
        (Runner::Node, _) => beyond(node(subject, task)?, None, subject),
        (Runner::Stream, _) => {
            let own = task.call.iter().position(|operands| *operands == task.operands).unwrap_or(0);
            let first = own.min(task.call.len() - MOST_TIMED);
            let leading = |count: usize| {
                let call = &task.call[first..first + count];
                stream(subject, Some(Task { call, operands: call[0], ..task }))
            };
            let alone = leading(1)?.0.cycles - stream(subject, None)?.0.cycles;
            let further = beyond(leading(MOST_TIMED)?, Some(leading(MOST_TIMED - 2)?.0), subject)?;
            let calls = task.call.len() as u64;
            Ok(TaskPrice { cycles: (alone + (calls - 1) * further.cycles / 2) / calls, ..further.halved() })
        }
    }
}

/// RTasks of a call that are timed.
const MOST_TIMED: usize = 4;

/// What a stream takes beyond another.
fn beyond(
    (with, unknowns): (Timing, Unknowns),
    without: Option<Timing>,
    subject: &Subject<'_>,
) -> Result<TaskPrice, PriceError> {
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

/// Cycles between two rTasks of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dispatch {
    /// From the last store of the first, of any warp, until all warps have begun to load operands of the second.
    pub behind_stores: u64,
    /// Of these, those behind the last store's reading of its registers. Before it the store waits for those that were issued
    /// earlier: they are the time that the data path takes to store, whatever follows.
    pub behind_data: u64,
}

/// What passes between an rTask and the same one once more, which its stream runs next and whose waits are over. `None` of
/// what no stream runs, of a call of several rTasks, and of an rTask that stores nothing.
pub fn dispatch_cycles(subject: &Subject<'_>, task: Task<'_>) -> Result<Option<Dispatch>, PriceError> {
    if task.runner != Runner::Stream || task.call.len() > 1 {
        return Ok(None);
    }
    let function = subject.code.function(&format!("k{}", task.kernel))?;
    let events = |place: usize| {
        let event = match subject.code.code[place].operation {
            Operation::Stg | Operation::Red | Operation::Redg => Some(TaskEvent::Store),
            Operation::Lds => Some(TaskEvent::Load),
            _ => None,
        };
        (place == function.start).then_some(TaskEvent::Begin).into_iter().chain(event)
    };
    let watched: Vec<usize> = (function.start..function.end).filter(|&place| events(place).next().is_some()).collect();
    let step = step_of(task);
    let (timing, _) = timed(subject, subject.entry, of_steps(subject, &[step, step]), &watched)?;
    let noted = |cycle_of: fn(&Watched) -> u64| -> Vec<(usize, TaskEvent, u64)> {
        let of_issue = |issue: &Watched| {
            let warp = issue.warp;
            let cycle = |event| if event == TaskEvent::Store { cycle_of(issue) } else { issue.cycle };
            events(issue.place).map(|event| (warp, event, cycle(event))).collect::<Vec<_>>()
        };
        timing.watched.iter().flat_map(of_issue).collect()
    };
    let warps = (subject.threads as usize).div_ceil(LANES);
    let behind = |cycle_of: fn(&Watched) -> u64| between_tasks(&noted(cycle_of), warps);
    let both = behind(|issue| issue.cycle).zip(behind(|issue| issue.read));
    Ok(both.map(|(behind_stores, behind_data)| Dispatch { behind_stores, behind_data }))
}

/// What a warp does of an rTask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TaskEvent {
    Begin,
    Store,
    Load,
}

/// The cycles from the last store before the last beginning of an rTask, of any of so many warps, until each has loaded first
/// behind it. Events have their warp and their cycle, and are in order.
fn between_tasks(events: &[(usize, TaskEvent, u64)], warps: usize) -> Option<u64> {
    let (mut stored, mut loaded) = (None, None);
    for warp in 0..warps {
        let own: Vec<(TaskEvent, u64)> =
            events.iter().filter(|event| event.0 == warp).map(|&(_, event, cycle)| (event, cycle)).collect();
        let again = own.iter().rposition(|(event, _)| *event == TaskEvent::Begin)?;
        let (before, next) = own.split_at(again);
        let cycle = |(event, cycle): &(TaskEvent, u64), wanted| (*event == wanted).then_some(*cycle);
        stored = stored.max(before.iter().rev().find_map(|event| cycle(event, TaskEvent::Store)));
        loaded = loaded.max(next.iter().find_map(|event| cycle(event, TaskEvent::Load)));
    }
    loaded?.checked_sub(stored?)
}

fn step_of(Task { kernel, operands, tile, call, .. }: Task<'_>) -> StreamStep {
    StreamStep::Run { kernel, operands, tile, own: call.len().saturating_sub(1) }
}

/// A block of the entry that walks a stream of this call, or of nothing.
fn stream(subject: &Subject<'_>, task: Option<Task<'_>>) -> Result<(Timing, Unknowns), PriceError> {
    let mut steps: Vec<StreamStep> = Vec::new();
    if let Some(task @ Task { kernel, tile, call, .. }) = task {
        steps.push(step_of(task));
        let further = call.iter().skip(1);
        steps.extend(further.map(|&operands| StreamStep::Further { kernel, operands, tile }));
    }
    timed(subject, subject.entry, of_steps(subject, &steps), &[])
}

/// A launch whose blocks walk these steps.
fn of_steps(subject: &Subject<'_>, steps: &[StreamStep]) -> Launch {
    let pointers = [ARENA, WEIGHTS, STREAM_START, INSTRUCTIONS, OPERANDS, CONTROL, COUNTERS, STATUS, TIME_LIMIT_NS];
    let mut launch = Launch::new(subject.threads, 0, BLOCKS, &words(&pointers));
    let mut tables = Tables::default();
    tables.push_stream(steps);
    tables.close();
    let mut control = vec![0; CONTROL_WORDS];
    control[0] = 1;
    launch.memory.add(STREAM_START, unsigned(&tables.stream_start));
    launch.memory.add(INSTRUCTIONS, unsigned(&tables.instructions));
    launch.memory.add(CONTROL, control);
    launch
}

/// A block of the entry of a kernel as a node.
fn node(subject: &Subject<'_>, task: Task<'_>) -> Result<(Timing, Unknowns), PriceError> {
    let mut parameters = words(&[ARENA, WEIGHTS, OPERANDS]);
    parameters.extend([task.operands, 0]);
    parameters.extend(words(&[STATUS]));
    let launch = Launch::new(subject.threads, task.tile, task.tile + 1, &parameters);
    timed(subject, &node_name(task.kernel), launch, &[])
}

fn timed(
    subject: &Subject<'_>,
    entry: &str,
    mut launch: Launch,
    watched: &[usize],
) -> Result<(Timing, Unknowns), PriceError> {
    launch.memory.add(OPERANDS, unsigned(subject.operands));
    launch.memory.add(STATUS, vec![0; STATUS_WORDS]);
    launch.set_bytes(JUMP_TABLE_BANK, 0, jump_tables(subject.cubin, entry)?);
    for (offset, function) in function_tables(subject.cubin)? {
        let address = subject.code.function(&function)?.start as u64 * INSTRUCTION_BYTES;
        launch.set_bytes(FUNCTION_TABLE_BANK, offset, &address.to_le_bytes());
    }
    let trace = evaluate(subject.code, entry, &mut launch)?;
    let timing = simulate(subject.code, &trace, subject.machine, subject.surroundings, watched)?;
    Ok((timing, trace.unknowns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatch_lasts_from_the_last_store_of_all_warps_to_the_first_load_of_the_last_one() {
        use TaskEvent::{Begin, Load, Store};
        let first = [(0, Begin, 0), (1, Begin, 1), (0, Load, 4), (0, Store, 10), (1, Store, 14), (1, Store, 15)];
        let second = [(0, Begin, 30), (1, Begin, 31), (0, Load, 32), (1, Load, 35), (0, Load, 40), (0, Store, 50)];
        let both = [first, second].concat();
        assert_eq!(between_tasks(&both, 2), Some(20));
        assert_eq!(between_tasks(&both, 3), None, "a third warp runs neither");
        assert_eq!(between_tasks(&first, 2), None, "nothing is stored before");
    }
}
