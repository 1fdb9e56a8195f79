//! The tables with which a plan is handed to the program that runs it.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::{Arena, Id};

use crate::plan::{CounterId, ExecutionPlan, Instruction, KernelNode, OperatorId, PersistentSegment, RTask, Segment};
use crate::streams::prefetch::leading_waits;

/// Words of one encoded instruction.
pub const INSTRUCTION_WORDS: usize = 4;
/// Words of [`Tables::stream_start`] a stream.
pub const STREAM_WORDS: usize = 2;
/// Instructions that a block fetches at once, and always has before it: a chunk begins at a multiple.
pub const CHUNK_INSTRUCTIONS: usize = 16;
/// Chunks that a block has room for, a power of two: one that it walks, one that it has and one that is on its way.
const RING_CHUNKS: usize = 4;
/// Instructions that a block has room for.
pub const RING_INSTRUCTIONS: usize = RING_CHUNKS * CHUNK_INSTRUCTIONS;
/// Operands that a block fetches of an rTask; a kernel with more reads the others from their table.
pub const HELD_OPERANDS: usize = 384;
/// The operands of an rOperator begin at a multiple of as many words: those of one access.
pub const OPERAND_ALIGNMENT: usize = 4;
/// Waits that a kernel does itself at most: a block has the instructions of its next chunk.
const MOST_OWN_WAITS: usize = CHUNK_INSTRUCTIONS - 1;

/// Opcode of [`Tables::instructions`]: the stream goes on.
pub const OPCODE_NOTHING: i32 = -1;
/// Opcode: the stream ends.
pub const OPCODE_END: i32 = 0;
/// Opcode: `[OPCODE_WAIT, counter, arrivals per launch, n]` waits for `(epoch − 1) · arrivals + n`.
pub const OPCODE_WAIT: i32 = 1;
/// Opcode: `[OPCODE_SIGNAL, counter, 0, 0]`.
pub const OPCODE_SIGNAL: i32 = 2;
/// Opcode: `[OPCODE_RUN + kernel, first operand of the stream's next call, tile, n]`. The `n` instructions that follow
/// are the kernel's own. They are waits, or further rTasks of the same call, with their own first operands, and the
/// signals between them. The call's own operands were fetched when the one before it began.
pub const OPCODE_RUN: i32 = 3;

/// What a program reads: the operands of the rOperators and a stream of instructions for every vEU of its persistent
/// segments; and its launches.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tables {
    /// Per vEU, the index of its first instruction and the first operand of its first run; those of the persistent segments
    /// one after another.
    pub stream_start: Vec<i32>,
    /// [`INSTRUCTION_WORDS`] words an instruction; every stream ends with [`OPCODE_END`]. After them whole chunks that
    /// are fetched and not run.
    pub instructions: Vec<i32>,
    /// Operands of all rOperators, each operator's consecutive; after them words that are fetched and not read.
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

/// An instruction of a stream, in the numbers of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamStep {
    /// Runs a kernel.
    Run {
        /// Position among the program's kernels.
        kernel: u32,
        /// Position of the first operand; a multiple of [`OPERAND_ALIGNMENT`].
        operands: u32,
        /// The tile.
        tile: u32,
        /// The steps after it that are the kernel's own.
        own: usize,
    },
    /// A further rTask of the call before.
    Further {
        /// As of the call.
        kernel: u32,
        /// Position of the first operand.
        operands: u32,
        /// As of the call.
        tile: u32,
    },
    /// Waits for a counter.
    Wait {
        /// The counter.
        counter: u32,
        /// Its signals a launch.
        arrivals: u32,
        /// Signals of this launch.
        signals: u32,
    },
    /// Signals a counter.
    Signal(u32),
    /// Does nothing, in the place of a prefetch before more waits than a kernel does itself.
    Nothing,
}

impl Tables {
    /// Appends the stream of one vEU.
    pub fn push_stream(&mut self, steps: &[StreamStep]) {
        let first_operand = |steps: &[StreamStep]| {
            let next = steps.iter().find_map(|step| match step {
                StreamStep::Run { operands, .. } => Some(*operands),
                StreamStep::Further { .. } | StreamStep::Wait { .. } | StreamStep::Signal(_) | StreamStep::Nothing => {
                    None
                }
            });
            next.unwrap_or(0) as i32
        };
        self.stream_start.extend([(self.instructions.len() / INSTRUCTION_WORDS) as i32, first_operand(steps)]);
        for (position, step) in steps.iter().enumerate() {
            self.instructions.extend(match *step {
                StreamStep::Run { kernel, tile, own, .. } => {
                    [OPCODE_RUN + kernel as i32, first_operand(&steps[position + 1..]), tile as i32, own as i32]
                }
                StreamStep::Further { kernel, operands, tile } => {
                    [OPCODE_RUN + kernel as i32, operands as i32, tile as i32, 0]
                }
                StreamStep::Wait { counter, arrivals, signals } => {
                    [OPCODE_WAIT, counter as i32, arrivals as i32, signals as i32]
                }
                StreamStep::Signal(counter) => [OPCODE_SIGNAL, counter as i32, 0, 0],
                StreamStep::Nothing => [OPCODE_NOTHING, 0, 0, 0],
            });
        }
        self.instructions.extend([OPCODE_END, 0, 0, 0]);
    }

    /// Appends what blocks fetch ahead of the last stream and of the last operands. Nothing is appended to these tables
    /// afterwards.
    pub fn close(&mut self) {
        let chunk = CHUNK_INSTRUCTIONS * INSTRUCTION_WORDS;
        self.instructions.resize(self.instructions.len().next_multiple_of(chunk) + 2 * chunk, 0);
        self.operands.resize(self.operands.len().next_multiple_of(OPERAND_ALIGNMENT) + HELD_OPERANDS, 0);
    }

    /// Streams of all persistent segments.
    pub fn stream_count(&self) -> usize {
        self.stream_start.len() / STREAM_WORDS
    }

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

/// What an operand is where states and what they become lie in each other's places: so many elements farther on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Relocation {
    /// Position of the operand in [`Tables::operands`].
    pub operand: u32,
    /// Elements of its tensor from the one place to the other.
    pub elements: i32,
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

/// What a wait that timed out was for.
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
    tables.close();
    tables
}

/// Appends the streams of a persistent segment and their launch.
fn encode_streams(
    segment: &PersistentSegment,
    binding: &impl Fn(OperatorId) -> Binding,
    first_counter: usize,
    tables: &mut Tables,
) {
    let (first_stream, blocks) = (tables.stream_count() as u32, segment.units() as u32);
    tables.launches.push(Launch::Streams(StreamLaunch { first_stream, blocks }));
    let number = |counter: CounterId| (first_counter + counter.index()) as u32;
    for stream in &segment.streams {
        let mut begun = None;
        let mut called = 0;
        let mut steps = Vec::with_capacity(stream.len());
        for (position, instruction) in stream.iter().enumerate() {
            steps.push(match *instruction {
                Instruction::Run(task) if begun == Some(task) => continue,
                Instruction::Run(task) => {
                    let own =
                        if position < called { 0 } else { own_steps(&stream[position..], binding, &tables.operands) };
                    let Binding { kernel, operands, .. } = binding(task.operator);
                    let is_further = position < called;
                    called = called.max(position + own + 1);
                    match is_further {
                        true => StreamStep::Further { kernel, operands, tile: task.tile },
                        false => run(binding(task.operator), task, own),
                    }
                }
                Instruction::Prefetch(task) => {
                    let waits = leading_waits(&stream[position + 1..]);
                    if waits <= MOST_OWN_WAITS {
                        begun = Some(task);
                        run(binding(task.operator), task, waits)
                    } else {
                        StreamStep::Nothing
                    }
                }
                Instruction::Hold(task) => {
                    let (kernel, operands) =
                        binding(task.operator).keep.expect("an rOperator that keeps constants has a kernel for it");
                    StreamStep::Run { kernel, operands, tile: task.tile, own: 0 }
                }
                Instruction::Wait { counter, signals } => {
                    let arrivals = segment.counters[counter].arrivals;
                    StreamStep::Wait { counter: number(counter), arrivals, signals }
                }
                Instruction::Signal(counter) => StreamStep::Signal(number(counter)),
            });
        }
        tables.push_stream(&steps);
    }
}

/// How many instructions behind the first, an rTask, belong to its call. They reach up to the last rTask of the same
/// kernel, tile and shared operands that nothing but signals parts from it.
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
fn run(Binding { kernel, operands, .. }: Binding, task: RTask, own: usize) -> StreamStep {
    StreamStep::Run { kernel, operands, tile: task.tile, own }
}

/// The name of the entry of a kernel as a node, by the kernel's position in its program.
pub fn node_name(kernel: u32) -> String {
    format!("warpweave_k{kernel}")
}
