//! The tables with which a plan is handed to the program that runs it.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::{Arena, Id};

use crate::plan::{CounterId, ExecutionPlan, Instruction, KernelNode, OperatorId, PersistentSegment, RTask, Segment};
use crate::streams::prefetch::leading_waits;

/// Words of one encoded instruction.
pub const INSTRUCTION_WORDS: usize = 4;

/// Opcode of [`Tables::instructions`]: the stream ends.
pub const OPCODE_END: i32 = 0;
/// Opcode: `[OPCODE_WAIT, counter, arrivals per launch, n]` waits for `(epoch − 1) · arrivals + n`.
pub const OPCODE_WAIT: i32 = 1;
/// Opcode: `[OPCODE_SIGNAL, counter, 0, 0]`.
pub const OPCODE_SIGNAL: i32 = 2;
/// Opcode: `[OPCODE_RUN + kernel, first operand, tile, n]`; the `n` instructions that follow are the kernel's own: waits, or
/// further rTasks of the same call and the signals between them.
pub const OPCODE_RUN: i32 = 3;

/// What a program reads: the operands of the rOperators and a stream of instructions for every vEU of its persistent
/// segments; and its launches.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tables {
    /// Per vEU, the index of its first instruction; those of the persistent segments one after another.
    pub stream_start: Vec<i32>,
    /// [`INSTRUCTION_WORDS`] words an instruction; every stream ends with [`OPCODE_END`].
    pub instructions: Vec<i32>,
    /// Operands of all rOperators, each operator's consecutive.
    pub operands: Vec<i32>,
    /// The launches in their order: each begins when the one before it has ended.
    pub launches: Vec<Launch>,
}

/// A kernel that the device launches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Launch {
    /// The entry that walks streams, cooperatively.
    Streams(StreamLaunch),
    /// The entry of a kernel as a node.
    Node(NodeLaunch),
}

/// The launch of a persistent segment. Each has a control block of its own, the first of the session's for the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct StreamLaunch {
    /// Position of the first block's stream in [`Tables::stream_start`].
    pub first_stream: u32,
    /// Blocks, one a stream.
    pub blocks: u32,
}

impl Tables {
    /// The launches of nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeLaunch> {
        self.launches.iter().filter_map(|launch| match launch {
            Launch::Streams(_) => None,
            Launch::Node(node) => Some(*node),
        })
    }

    /// The launches of persistent segments.
    pub fn streams(&self) -> impl Iterator<Item = StreamLaunch> {
        self.launches.iter().filter_map(|launch| match launch {
            Launch::Streams(streams) => Some(*streams),
            Launch::Node(_) => None,
        })
    }
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
    Tagged {
        /// Its place in the arena, in units of eight bytes.
        element: i32,
    },
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter { position, counter } => write!(f, "counter {counter} at instruction {position}"),
            Self::Tagged { element } => write!(f, "the tag of element {element} of the arena"),
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
    /// Where a call of the kernel may run several rTasks one after another, how many leading operands they then share.
    pub shared_operands: Option<u32>,
}

/// The tables of a plan whose rOperators, numbered through its segments, are run like this. So are its counters.
pub fn encode(plan: &ExecutionPlan, bindings: &Arena<OperatorId, Binding>, operands: Vec<i32>) -> Tables {
    let mut tables = Tables { operands, ..Tables::default() };
    let mut first_counter = 0;
    for (segment, first) in plan.segments.iter().zip(plan.first_operators()) {
        let binding = |operator: OperatorId| bindings[OperatorId::from_index(first + operator.index())];
        match segment {
            Segment::Persistent(segment) => {
                encode_streams(segment, &binding, first_counter, &mut tables);
                first_counter += segment.counters.len();
            }
            Segment::CudaGraph(segment) => {
                let launch = |node: &KernelNode| {
                    let Binding { kernel, operands, .. } = binding(node.operator);
                    Launch::Node(NodeLaunch { kernel, operands, blocks: node.blocks })
                };
                tables.launches.extend(segment.nodes.iter().map(launch));
            }
        }
    }
    tables
}

/// Appends the streams of a persistent segment and their launch.
fn encode_streams(
    segment: &PersistentSegment,
    binding: &impl Fn(OperatorId) -> Binding,
    first_counter: usize,
    tables: &mut Tables,
) {
    let (first_stream, blocks) = (tables.stream_start.len() as u32, segment.units() as u32);
    tables.launches.push(Launch::Streams(StreamLaunch { first_stream, blocks }));
    let number = |counter: CounterId| (first_counter + counter.index()) as i32;
    for stream in &segment.streams {
        tables.stream_start.push((tables.instructions.len() / INSTRUCTION_WORDS) as i32);
        let mut begun = None;
        let mut called = 0;
        for (position, instruction) in stream.iter().enumerate() {
            tables.instructions.extend(match *instruction {
                Instruction::Run(task) if begun == Some(task) => continue,
                Instruction::Run(task) => {
                    let own =
                        if position < called { 0 } else { own_steps(&stream[position..], binding, &tables.operands) };
                    called = called.max(position + own + 1);
                    run(binding(task.operator), task, own)
                }
                Instruction::Prefetch(task) => {
                    begun = Some(task);
                    run(binding(task.operator), task, leading_waits(&stream[position + 1..]))
                }
                Instruction::Hold(task) => {
                    let (kernel, operands) =
                        binding(task.operator).keep.expect("an rOperator that keeps constants has a kernel for it");
                    [OPCODE_RUN + kernel as i32, operands as i32, task.tile as i32, 0]
                }
                Instruction::Wait { counter, signals } => {
                    let arrivals = segment.counters[counter].arrivals;
                    [OPCODE_WAIT, number(counter), arrivals as i32, signals as i32]
                }
                Instruction::Signal(counter) => [OPCODE_SIGNAL, number(counter), 0, 0],
            });
        }
        tables.instructions.extend([OPCODE_END, 0, 0, 0]);
    }
}

/// How many instructions behind the first, an rTask, belong to its call: up to the last rTask of the same kernel, tile and
/// shared operands that nothing but signals parts from it.
fn own_steps(stream: &[Instruction], binding: &impl Fn(OperatorId) -> Binding, operands: &[i32]) -> usize {
    let Some(&Instruction::Run(first)) = stream.first() else { return 0 };
    let lead = binding(first.operator);
    let Some(count) = lead.shared_operands else { return 0 };
    let shared = |binding: Binding| operands.get(binding.operands as usize..(binding.operands + count) as usize);
    let joins = |task: RTask| {
        let own = binding(task.operator);
        task.tile == first.tile && own.kernel == lead.kernel && shared(own) == shared(lead)
    };
    let own = stream.iter().skip(1).take_while(|instruction| match instruction {
        Instruction::Run(task) => joins(*task),
        Instruction::Signal(_) => true,
        Instruction::Hold(_) | Instruction::Prefetch(_) | Instruction::Wait { .. } => false,
    });
    let own: Vec<&Instruction> = own.collect();
    own.iter().rposition(|instruction| matches!(instruction, Instruction::Run(_))).map_or(0, |last| last + 1)
}

/// An rTask whose kernel does so many further instructions itself.
fn run(binding: Binding, task: RTask, own: usize) -> [i32; INSTRUCTION_WORDS] {
    [OPCODE_RUN + binding.kernel as i32, binding.operands as i32, task.tile as i32, own as i32]
}

/// The name of the entry of a kernel as a node, by the kernel's position in its program.
pub fn node_name(kernel: u32) -> String {
    format!("warpweave_k{kernel}")
}
