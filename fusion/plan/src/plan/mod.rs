//! Execution plans: which rTask runs on which virtual execution unit, after which signals, in which memory.

pub mod backend;
pub mod index_records;
pub mod segments;
pub mod states;

use self::states::PlannedState;
use serde::{Deserialize, Serialize};
use warpweave_graph::arena::Arena;
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_graph::program::{Origins, TensorId};
use warpweave_graph::typed_id;
use warpweave_graph::types::TensorType;
use warpweave_graph::views::Layout;

use crate::kernel::Kernel;
use crate::plan::backend::Backend;
use crate::plan::index_records::IndexRecords;

typed_id!(
    /// An rOperator of a segment.
    OperatorId, "o"
);
typed_id!(
    /// A counter of a segment.
    CounterId, "c"
);

/// A fusion group with its kernel and tile grid: homogeneous rTasks, one a tile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ROperator {
    /// What is computed, with which template and tile.
    pub kernel: Kernel,
    /// Estimated microseconds of one rTask on a multiprocessor of its own.
    pub task_microseconds: f64,
    /// Of these, the microseconds that a prefetch takes off if it has time enough.
    pub prologue_microseconds: f64,
    /// The nodes of the model that it comes from. Nothing but text for people depends on them.
    pub origins: Origins,
}

impl ROperator {
    /// The number of rTasks.
    pub fn tasks(&self) -> u32 {
        u32::try_from(self.kernel.tiles()).expect("planning bounds the number of tiles")
    }
}

/// One tile of an rOperator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RTask {
    /// The rOperator.
    pub operator: OperatorId,
    /// The tile's index in the grid, row-major.
    pub tile: u32,
}

/// One step of a virtual execution unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Instruction {
    /// Run an rTask.
    Run(RTask),
    /// Bring into the unit's shared memory the constants that this rTask keeps there, in the place of what it held.
    Hold(RTask),
    /// Begin to load the constants with which this rTask begins. Only waits stand between this and its run.
    Prefetch(RTask),
    /// Wait until a counter has counted this many signals of the launch.
    Wait {
        /// The counter.
        counter: CounterId,
        /// Signals of this launch to wait for. Equal to the counter's arrivals unless all its signals come from one
        /// unit.
        signals: u32,
    },
    /// Add one to a counter, after everything this unit has done.
    Signal(CounterId),
}

impl Instruction {
    /// The rTask that it is about, if it is about one.
    pub fn task(self) -> Option<RTask> {
        match self {
            Self::Run(task) | Self::Hold(task) | Self::Prefetch(task) => Some(task),
            Self::Wait { .. } | Self::Signal(_) => None,
        }
    }
}

/// A counter: how many signals it gets in one launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Counter {
    /// Signals a launch.
    pub arrivals: u32,
}

/// Which memory a buffer is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BufferSpace {
    /// Written during the launch, or by the host before it.
    Arena,
    /// Constant.
    Weights,
}

/// Where a tensor's root buffer lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Buffer {
    /// The memory.
    pub space: BufferSpace,
    /// Byte offset, a multiple of [`BUFFER_ALIGNMENT`].
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Buffer {
    /// Whether two buffers share a byte.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meets = self.offset < other.offset + other.bytes && other.offset < self.offset + self.bytes;
        self.space == other.space && meets
    }
}

/// Alignment of every buffer in bytes.
pub const BUFFER_ALIGNMENT: u64 = 256;

/// How the readers of a tensor come to know that its values are there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum EdgeKind {
    /// By stream order and counters; a barrier is a counter at which all units meet.
    Counter,
    /// Every value carries a tag of its launch and is polled by the load that fetches it. A poll orders nothing else.
    Tagged,
}

impl EdgeKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Counter, Self::Tagged];
}

/// Bytes of a tag: a word.
pub const TAG_BYTES: usize = WORD_BYTES;

/// Bytes of an element that carries its own validity: a word whose first bytes are the element, whatever its type, then its tag.
pub const TAGGED_BYTES: usize = WORD_BYTES + TAG_BYTES;

/// The most elements that one poll asks for.
pub const MOST_POLLED: usize = 8;

/// The tagged values of a sum that a thread polls at once: as many as divide their number, at most [`MOST_POLLED`].
pub fn polled_together(summed: usize) -> usize {
    (1..=MOST_POLLED).rev().find(|count| summed.is_multiple_of(*count)).unwrap_or(1)
}

/// Tags of a launch.
pub const TAGS: u32 = 1 << 16;

/// The bits that every tag has: those of a signalling NaN, which no arithmetic delivers. What is left of a tag are the low
/// 21 bits of the launch's number times [`TAGS`] plus the tag of the tensor. As every tagged value is written in every launch,
/// bytes only ever hold tags of this launch and of the one before.
pub const TAG_BITS: u32 = 0xffa0_0000;

/// The bits in which tags differ.
const NUMBER_BITS: u32 = 0x001f_ffff;

/// The bits of a tag of this number in launch `epoch`.
pub fn tag_of(epoch: u32, tag: u32) -> u32 {
    TAG_BITS | (epoch.wrapping_mul(TAGS).wrapping_add(tag) & NUMBER_BITS)
}

/// Whether bits of a tag are those of a later one in the same launch than other bits of a tag.
pub fn is_later(found: u32, wanted: u32) -> bool {
    (1..TAGS).contains(&(found.wrapping_sub(wanted) & NUMBER_BITS))
}

/// How a tensor of the plan is stored and what it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedTensor {
    /// Element type and shape.
    pub ty: TensorType,
    /// Its place in its root's buffer.
    pub layout: Layout,
    /// The buffer of its root; `None` if no kernel touches the tensor.
    pub buffer: Option<Buffer>,
    /// How its readers come to know of its values.
    pub edge: EdgeKind,
    /// Which of a launch's [`TAGS`] its values carry, if they carry one: what later has the same bytes has a larger one.
    pub tag: u32,
}

impl PlannedTensor {
    /// Bytes from one element to the next.
    pub fn pitch(&self) -> usize {
        match self.edge {
            EdgeKind::Counter => self.ty.element.bytes(),
            EdgeKind::Tagged => TAGGED_BYTES,
        }
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        (self.ty.shape.elements() * self.pitch()) as u64
    }
}

/// The memory of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MemoryPlan {
    /// All tensors of the program, by id.
    pub tensors: Arena<TensorId, PlannedTensor>,
    /// What the host writes before a launch.
    pub inputs: Vec<TensorId>,
    /// What the host reads after a launch.
    pub outputs: Vec<TensorId>,
    /// What lives between launches and is replaced by each.
    pub states: Vec<PlannedState>,
    /// The constants that kernels read, with their buffers in the weights.
    pub constants: Vec<TensorId>,
    /// Bytes of the arena.
    pub arena_bytes: u64,
    /// What is checked of indices, and where a launch records those that are none.
    pub index_records: IndexRecords,
    /// Bytes of the weights.
    pub weights_bytes: u64,
}

/// One cooperative launch: a stream of instructions for every virtual execution unit.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PersistentSegment {
    /// The rOperators, in a topological order.
    pub operators: Arena<OperatorId, ROperator>,
    /// The counters.
    pub counters: Arena<CounterId, Counter>,
    /// One stream a virtual execution unit.
    pub streams: Vec<Vec<Instruction>>,
}

/// An rOperator as a kernel node of a graph: a block an rTask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct KernelNode {
    /// The rOperator.
    pub operator: OperatorId,
    /// Blocks of the launch; the block of an index runs the tile of that index.
    pub blocks: u32,
}

/// A CUDA graph of kernel nodes, one after another: a block of a node touches memory when all blocks of the node before it
/// have ended.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GraphSegment {
    /// The rOperators, in a topological order.
    pub operators: Arena<OperatorId, ROperator>,
    /// The nodes in their order; rOperators without rTasks have none.
    pub nodes: Vec<KernelNode>,
    /// The multiprocessors for which kernels were chosen; it runs on any number.
    pub units: usize,
}

/// A part of a plan that is launched at once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Segment {
    /// One cooperative launch.
    Persistent(PersistentSegment),
    /// One launch of a graph.
    CudaGraph(GraphSegment),
}

impl Segment {
    /// What runs it.
    pub fn backend(&self) -> Backend {
        match self {
            Self::Persistent(_) => Backend::Persistent,
            Self::CudaGraph(_) => Backend::CudaGraph,
        }
    }

    /// The rOperators.
    pub fn operators(&self) -> &Arena<OperatorId, ROperator> {
        match self {
            Self::Persistent(segment) => &segment.operators,
            Self::CudaGraph(segment) => &segment.operators,
        }
    }

    /// The virtual execution units, or the multiprocessors that a graph is planned for.
    pub fn units(&self) -> usize {
        match self {
            Self::Persistent(segment) => segment.units(),
            Self::CudaGraph(segment) => segment.units,
        }
    }

    /// Signals a launch, per counter; a graph has none.
    pub fn arrivals(&self) -> Vec<i32> {
        match self {
            Self::Persistent(segment) => segment.counters.values().map(|counter| counter.arrivals as i32).collect(),
            Self::CudaGraph(_) => Vec::new(),
        }
    }

    /// Kernels that the device launches.
    pub fn launches(&self) -> usize {
        match self {
            Self::Persistent(_) => 1,
            Self::CudaGraph(segment) => segment.nodes.len(),
        }
    }

    /// Blocks of the launch; a graph has none, but blocks a node.
    pub fn blocks(&self) -> Option<u32> {
        match self {
            Self::Persistent(segment) => Some(segment.units() as u32),
            Self::CudaGraph(_) => None,
        }
    }

    /// The number of rTasks of all rOperators.
    pub fn tasks(&self) -> usize {
        self.operators().values().map(|operator| operator.tasks() as usize).sum()
    }

    /// rTasks that load constants before they wait; a graph has none.
    pub fn prefetches(&self) -> usize {
        match self {
            Self::Persistent(segment) => segment.prefetches(),
            Self::CudaGraph(_) => 0,
        }
    }

    /// The number of waits in all streams; a graph has none.
    pub fn waits(&self) -> usize {
        match self {
            Self::Persistent(segment) => segment.waits(),
            Self::CudaGraph(_) => 0,
        }
    }
}

/// A whole model's schedule and memory.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ExecutionPlan {
    /// The segments, run one after another: all of one has ended and is visible before anything of the next begins. Each
    /// numbers its own rOperators and counters; where a plan's are told apart by one number, it goes through the segments
    /// in their order, see [`ExecutionPlan::first_operators`].
    pub segments: Vec<Segment>,
    /// The memory that all segments share.
    pub memory: MemoryPlan,
}

impl PersistentSegment {
    /// The number of virtual execution units.
    pub fn units(&self) -> usize {
        self.streams.len()
    }

    /// The number of rTasks of all rOperators.
    pub fn tasks(&self) -> usize {
        self.operators.values().map(|operator| operator.tasks() as usize).sum()
    }

    /// The number of waits in all streams.
    pub fn waits(&self) -> usize {
        let is_wait = |instruction: &&Instruction| matches!(instruction, Instruction::Wait { .. });
        self.streams.iter().flatten().filter(is_wait).count()
    }

    /// The number of rTasks that load constants before they wait.
    pub fn prefetches(&self) -> usize {
        let is_prefetch = |instruction: &&Instruction| matches!(instruction, Instruction::Prefetch(_));
        self.streams.iter().flatten().filter(is_prefetch).count()
    }
}
