//! The tables with which a plan is handed to the program that runs it.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::{Arena, Id};

use super::plan::{Instruction, KernelNode, OperatorId, PersistentSegment, RTask, Segment};
use super::prefetch::leading_waits;

/// Words of one encoded instruction.
pub const INSTRUCTION_WORDS: usize = 4;

/// Opcode of [`Tables::instructions`]: the stream ends.
pub const OPCODE_END: i32 = 0;
/// Opcode: `[OPCODE_WAIT, counter, arrivals per launch, n]` waits for `(epoch − 1) · arrivals + n`.
pub const OPCODE_WAIT: i32 = 1;
/// Opcode: `[OPCODE_SIGNAL, counter, 0, 0]`.
pub const OPCODE_SIGNAL: i32 = 2;
/// Opcode: `[OPCODE_RUN + kernel, first operand, tile, n]`; the `n` waits that follow are the kernel's own.
pub const OPCODE_RUN: i32 = 3;

/// What a program reads: the operands of the rOperators and, if it is persistent, one stream of instructions a vEU; and
/// the launches, if it is a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tables {
    /// Per vEU, the index of its first instruction.
    pub stream_start: Vec<i32>,
    /// [`INSTRUCTION_WORDS`] words an instruction; every stream ends with [`OPCODE_END`].
    pub instructions: Vec<i32>,
    /// Operands of all rOperators, each operator's consecutive.
    pub operands: Vec<i32>,
    /// The launches of a graph in their order; none for a persistent program.
    pub nodes: Vec<NodeLaunch>,
}

/// The launch of a kernel node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct NodeLaunch {
    /// Position among the program's kernels.
    pub kernel: u32,
    /// Position of the first operand in [`Tables::operands`].
    pub operands: u32,
    /// Blocks, one a tile.
    pub blocks: u32,
}

/// Words from one counter to the next: each has a 128-byte line of its own, so that polling one never delays another.
pub const COUNTER_STRIDE_WORDS: usize = 32;

/// Words of a session's control block: epoch, left and abort in words 0, 1 and 2, then padding to a line.
pub const CONTROL_WORDS: usize = 32;

/// Words of the status buffer, then padding: `[claimed, vEU, position, counter, seen, wanted]` if `claimed` is
/// [`CLAIMED_BY_WAIT`], `[claimed, vEU, element, 0, seen, wanted]` if it is [`CLAIMED_BY_POLL`]. It is 0 while nothing
/// has timed out.
pub const STATUS_WORDS: usize = 8;
/// A wait for a counter has timed out.
pub const CLAIMED_BY_WAIT: i32 = 1;
/// A poll for a value that carries its own validity has timed out.
pub const CLAIMED_BY_POLL: i32 = 2;

/// What somebody waited for who gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// A counter.
    Counter {
        /// The index of the wait in the instruction table.
        position: i32,
        /// The counter's index.
        counter: i32,
    },
    /// A value that carries its own validity.
    Sentinel {
        /// Its place in the arena, in units of eight bytes.
        element: i32,
    },
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter { position, counter } => write!(f, "counter {counter} at instruction {position}"),
            Self::Sentinel { element } => write!(f, "the mark of element {element} of the arena"),
        }
    }
}

/// How an rOperator is run: by which kernel of the program, on which operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Binding {
    /// Position among the program's kernels.
    pub kernel: u32,
    /// Position of its first operand in [`Tables::operands`].
    pub operands: u32,
    /// Position of the kernel that brings what the rOperator keeps on chip, and of its first operand.
    pub keep: Option<(u32, u32)>,
}

/// The tables of a segment whose rOperators are run like this.
pub fn encode(segment: &Segment, bindings: &Arena<OperatorId, Binding>, operands: Vec<i32>) -> Tables {
    match segment {
        Segment::Persistent(segment) => encode_streams(segment, bindings, operands),
        Segment::CudaGraph(segment) => {
            let launch = |node: &KernelNode| {
                let Binding { kernel, operands, .. } = bindings[node.operator];
                NodeLaunch { kernel, operands, blocks: node.blocks }
            };
            Tables { nodes: segment.nodes.iter().map(launch).collect(), operands, ..Tables::default() }
        }
    }
}

/// The tables of a persistent segment whose rOperators are run like this.
pub fn encode_streams(
    segment: &PersistentSegment,
    bindings: &Arena<OperatorId, Binding>,
    operands: Vec<i32>,
) -> Tables {
    let mut tables = Tables { operands, ..Tables::default() };
    for stream in &segment.streams {
        tables.stream_start.push((tables.instructions.len() / INSTRUCTION_WORDS) as i32);
        let mut begun = None;
        for (position, instruction) in stream.iter().enumerate() {
            tables.instructions.extend(match *instruction {
                Instruction::Run(task) if begun == Some(task) => continue,
                Instruction::Run(task) => run(bindings[task.operator], task, 0),
                Instruction::Prefetch(task) => {
                    begun = Some(task);
                    run(bindings[task.operator], task, leading_waits(&stream[position + 1..]))
                }
                Instruction::Keep(task) => {
                    let (kernel, operands) =
                        bindings[task.operator].keep.expect("an rOperator that keeps constants has a kernel for it");
                    [OPCODE_RUN + kernel as i32, operands as i32, task.tile as i32, 0]
                }
                Instruction::Wait { counter, signals } => {
                    let arrivals = segment.counters[counter].arrivals;
                    [OPCODE_WAIT, counter.index() as i32, arrivals as i32, signals as i32]
                }
                Instruction::Signal(counter) => [OPCODE_SIGNAL, counter.index() as i32, 0, 0],
            });
        }
        tables.instructions.extend([OPCODE_END, 0, 0, 0]);
    }
    tables
}

/// An rTask whose kernel does this many waits itself.
fn run(binding: Binding, task: RTask, waits: usize) -> [i32; INSTRUCTION_WORDS] {
    [OPCODE_RUN + binding.kernel as i32, binding.operands as i32, task.tile as i32, waits as i32]
}

/// The name of the entry of a kernel as a node, by the kernel's position in its program.
pub fn node_name(kernel: u32) -> String {
    format!("warpweave_k{kernel}")
}
