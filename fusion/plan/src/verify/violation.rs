//! The ways in which plans are wrong.

use std::fmt;

use warpweave_graph::program::TensorId;

use crate::plan::segments::SegmentId;
use crate::plan::{CounterId, OperatorId, RTask};

/// A way in which a plan is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The memory plan names what does not exist, or has impossible shapes.
    Memory(&'static str),
    /// An operator's expressions are ill-typed, or its kernel is impossible.
    Malformed {
        /// The operator.
        operator: OperatorId,
        /// What is wrong.
        reason: &'static str,
    },
    /// An rTask runs this often instead of once.
    TaskCount {
        /// The rTask.
        task: RTask,
        /// How often it runs.
        runs: usize,
    },
    /// A stream names an rTask, an operator or a counter that does not exist.
    Unknown {
        /// The unit.
        unit: usize,
        /// The position in its stream.
        position: usize,
    },
    /// An operator's tile is empty, too long, or of another rank than its tile axes.
    Tile(OperatorId),
    /// A stage's output is not provably written once everywhere.
    Output {
        /// The operator.
        operator: OperatorId,
        /// The stage.
        stage: usize,
    },
    /// A counter gets another number of signals than it declares.
    Arrivals {
        /// The counter.
        counter: CounterId,
        /// What it declares.
        declared: u32,
        /// The signals in the streams.
        found: u32,
    },
    /// A wait is for fewer signals than arrive, and they come from several units: it would not say which.
    AmbiguousWait {
        /// The unit.
        unit: usize,
        /// The position in its stream.
        position: usize,
    },
    /// Units that wait for ever, each at a position of its stream.
    Deadlock(Vec<(usize, usize)>),
    /// An rOperator is so many nodes of a graph, where one node runs all of its rTasks and none runs no rTasks.
    NodeCount {
        /// The rOperator.
        operator: OperatorId,
        /// Its nodes.
        nodes: usize,
    },
    /// A node has another number of blocks than its rOperator has rTasks.
    NodeBlocks {
        /// The rOperator.
        operator: OperatorId,
        /// The rTasks.
        tasks: u32,
        /// The blocks.
        blocks: u32,
    },
    /// A node names an rOperator that does not exist.
    UnknownNode(usize),
    /// An rOperator keeps constants on chip from rTask to rTask, which the blocks of a node cannot.
    ResidentInGraph(OperatorId),
    /// A tensor of a graph carries its own validity, which kernels that are no persistent program cannot poll.
    TaggedInGraph(TensorId),
    /// An rTask reads what another writes, and may run before it.
    UnorderedRead {
        /// The reader.
        reader: RTask,
        /// The writer.
        writer: RTask,
        /// The tensor that is read.
        tensor: TensorId,
    },
    /// An rTask reads elements that nothing writes.
    Uncovered {
        /// The operator.
        operator: OperatorId,
        /// The tensor that is read.
        tensor: TensorId,
    },
    /// An rTask reads what a later segment writes.
    ReadsLater {
        /// The reader's segment.
        segment: SegmentId,
        /// The reader.
        reader: RTask,
        /// The writer's segment.
        written_in: SegmentId,
        /// The writer.
        writer: RTask,
        /// The tensor that is read.
        tensor: TensorId,
    },
    /// A tensor that carries its own validity is used in two segments, whose tags have nothing to do with one another.
    TaggedAcross {
        /// The tensor.
        tensor: TensorId,
        /// The first segment that uses it.
        first: SegmentId,
        /// Another.
        other: SegmentId,
    },
    /// What is wrong in one of several segments, whose own rOperators, counters and units are meant.
    InSegment {
        /// The segment.
        segment: SegmentId,
        /// What it is.
        violation: Box<Self>,
    },
    /// Two statements write the same elements of a concat.
    DoubleWrite(TensorId, TensorId),
    /// Two tensors share bytes, and neither is finished with before the other is written.
    Alias {
        /// The tensors.
        tensors: (TensorId, TensorId),
        /// An rTask that uses the first and one that may write the same bytes as the second meanwhile, or the reverse;
        /// none if those that nothing orders touch different bytes.
        tasks: Option<(RTask, RTask)>,
    },
    /// A tensor that is used has no buffer, one outside its memory, or one of the wrong size.
    Buffer(TensorId),
    /// A kernel writes an input or a constant.
    WritesConstant(TensorId),
    /// An rTask runs where its unit does not hold the constants that it keeps on chip.
    NotResident {
        /// The rTask.
        task: RTask,
        /// The unit.
        unit: usize,
    },
    /// A prefetch after which something else than waits and its rTask follows.
    StrayPrefetch {
        /// The unit.
        unit: usize,
        /// The position in its stream.
        position: usize,
    },
    /// An operator whose rTasks do not begin with a load of constants is told to prefetch.
    PrefetchesVariable(OperatorId),
    /// A tagged value that is no single-precision tensor of its own in the arena, or that the host touches.
    Tagged(TensorId),
    /// Kernels of an operator's template cannot tag or poll a tagged value that it uses.
    CannotExchange {
        /// The operator.
        operator: OperatorId,
        /// The tagged value.
        tensor: TensorId,
    },
    /// Records of faulty indices lie in a buffer or outside the arena, or stand for checks that are no checks.
    IndexRecords,
    /// An operator uses an element as an index that the plan does not check.
    UncheckedIndex(OperatorId),
    /// What an operator keeps on chip is no constant.
    ResidentVariable {
        /// The operator.
        operator: OperatorId,
        /// The tensor.
        tensor: TensorId,
    },
}

impl Violation {
    /// Two rTasks of the plan's only segment that nothing orders and that must not run side by side.
    pub fn conflict(&self) -> Option<(RTask, RTask)> {
        match *self {
            Self::UnorderedRead { reader, writer, .. } => Some((reader, writer)),
            Self::Alias { tasks, .. } => tasks,
            Self::Memory(_)
            | Self::Malformed { .. }
            | Self::TaskCount { .. }
            | Self::Unknown { .. }
            | Self::Tile(_)
            | Self::Output { .. }
            | Self::Arrivals { .. }
            | Self::AmbiguousWait { .. }
            | Self::Deadlock(_)
            | Self::Uncovered { .. }
            | Self::DoubleWrite(..)
            | Self::Buffer(_)
            | Self::WritesConstant(_)
            | Self::NotResident { .. }
            | Self::Tagged(_)
            | Self::CannotExchange { .. }
            | Self::StrayPrefetch { .. }
            | Self::PrefetchesVariable(_)
            | Self::ResidentVariable { .. }
            | Self::NodeCount { .. }
            | Self::NodeBlocks { .. }
            | Self::UnknownNode(_)
            | Self::ResidentInGraph(_)
            | Self::ReadsLater { .. }
            | Self::TaggedAcross { .. }
            | Self::InSegment { .. }
            | Self::IndexRecords
            | Self::UncheckedIndex(_)
            | Self::TaggedInGraph(_) => None,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(reason) => write!(f, "memory is malformed: {reason}"),
            Self::Malformed { operator, reason } => write!(f, "{operator} is malformed: {reason}"),
            Self::TaskCount { task, runs } => write!(f, "rTask {}.{} runs {runs} times", task.operator, task.tile),
            Self::Unknown { unit, position } => write!(f, "vEU {unit} names something unknown at {position}"),
            Self::Tile(operator) => write!(f, "{operator} has an impossible tile"),
            Self::Output { operator, stage } => {
                write!(f, "stage {stage} of {operator} does not provably write each element once")
            }
            Self::Arrivals { counter, declared, found } => {
                write!(f, "{counter} declares {declared} signals and gets {found}")
            }
            Self::AmbiguousWait { unit, position } => {
                write!(f, "vEU {unit} waits at {position} for some of several units' signals")
            }
            Self::Deadlock(stuck) => {
                let at: Vec<String> =
                    stuck.iter().map(|(unit, position)| format!("vEU {unit} at {position}")).collect();
                write!(f, "deadlock: {}", at.join(", "))
            }
            Self::NodeCount { operator, nodes } => write!(f, "{operator} is {nodes} nodes of the graph"),
            Self::NodeBlocks { operator, tasks, blocks } => {
                write!(f, "the node of {operator} has {blocks} blocks for {tasks} rTasks")
            }
            Self::UnknownNode(position) => write!(f, "node {position} names something unknown"),
            Self::ResidentInGraph(operator) => write!(f, "{operator} keeps constants on chip, which a node cannot"),
            Self::TaggedInGraph(tensor) => write!(f, "{tensor} carries its own validity, which no node can poll"),
            Self::UnorderedRead { reader, writer, tensor } => write!(
                f,
                "rTask {}.{} reads {tensor} and may run before rTask {}.{}, which writes it",
                reader.operator, reader.tile, writer.operator, writer.tile
            ),
            Self::ReadsLater { segment, reader, written_in, writer, tensor } => write!(
                f,
                "rTask {}.{} of {segment} reads {tensor}, which rTask {}.{} of {written_in} writes later",
                reader.operator, reader.tile, writer.operator, writer.tile
            ),
            Self::TaggedAcross { tensor, first, other } => {
                write!(f, "{tensor} carries its own validity and is used in {first} and in {other}")
            }
            Self::InSegment { segment, violation } => write!(f, "segment {segment}: {violation}"),
            Self::NotResident { task, unit } => {
                write!(f, "rTask {}.{} runs on vEU {unit}, which does not hold what it keeps", task.operator, task.tile)
            }
            Self::StrayPrefetch { unit, position } => {
                write!(f, "vEU {unit} prefetches at {position} for an rTask that is not the next")
            }
            Self::PrefetchesVariable(operator) => write!(f, "{operator} has no constants to load before it waits"),
            Self::ResidentVariable { operator, tensor } => write!(f, "{operator} keeps {tensor}, which is no constant"),
            Self::Tagged(tensor) => write!(f, "{tensor} cannot carry its own validity"),
            Self::CannotExchange { operator, tensor } => {
                write!(f, "{operator} can neither tag nor poll {tensor}, which carries its own validity")
            }
            Self::Uncovered { operator, tensor } => {
                write!(f, "{operator} reads elements of {tensor} that nothing writes")
            }
            Self::DoubleWrite(a, b) => write!(f, "{a} and {b} write the same elements"),
            Self::Alias { tensors: (a, b), tasks } => {
                write!(f, "{a} and {b} share bytes and are not used one after the other")?;
                match tasks {
                    None => Ok(()),
                    Some((one, other)) => write!(
                        f,
                        ": nothing orders rTask {}.{} and rTask {}.{}",
                        one.operator, one.tile, other.operator, other.tile
                    ),
                }
            }
            Self::Buffer(tensor) => write!(f, "{tensor} has no proper buffer"),
            Self::IndexRecords => f.write_str("the records of faulty indices have no proper place"),
            Self::UncheckedIndex(operator) => write!(f, "{operator} uses an index that is not checked"),
            Self::WritesConstant(tensor) => write!(f, "{tensor} is written and must stay as it is"),
        }
    }
}

/// What a verified plan rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// rTasks of the plan.
    pub tasks: usize,
    /// Waits of the plan, each of which ends.
    pub waits: usize,
    /// Pairs of a reading and a writing rTask whose order was proved.
    pub ordered_reads: usize,
    /// Pairs of an rTask that polls and one that writes what it polls, each of which ends.
    pub polls: usize,
    /// Pairs of buffers that share bytes and whose uses were proved to follow one another.
    pub ordered_buffers: usize,
}
