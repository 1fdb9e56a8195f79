//! What sessions of a plan on the host have in common.

use std::sync::Arc;

use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::{KernelNode, MemoryPlan, OperatorId, ROperator, Segment};
use warpweave_plan::streams::fold::{Merging, fold};
use warpweave_plan::streams::polls::Polls;
use warpweave_plan::verify::{Verified, verify};

use super::HostError;
use super::constant_uses::ConstantUses;
use super::contraction::PackedConstants;
use super::indices::IndexFaults;
use super::memory::{Memory, PortPlaces, SharedArena};
use super::operator::{HostOperator, KnownOperators, TaskScratch};
use super::streams::{signals, turning, with_busy_streams};
use super::vector_limit::VectorLimit;

/// A plan that was folded onto threads of this machine, its constants packed. Sessions share it.
pub struct HostProgram {
    pub(super) plan: Verified,
    pub(super) threads: usize,
    pub(super) weights: Arc<[u8]>,
    pub(super) segments: Vec<HostSegment>,
    pub(super) ports: PortPlaces,
}

/// What is prepared of a segment.
pub(super) struct HostSegment {
    pub(super) operators: Arena<OperatorId, HostOperator>,
    pub(super) polls: Polls,
    /// By how much each instruction's counter grows there.
    pub(super) signals: Vec<Box<[u32]>>,
}

impl HostProgram {
    /// Folds the plan onto at most `threads` streams, verifies it again, and prepares its rOperators. Weights that no other
    /// holds are given back as soon as they are packed, where nothing reads them otherwise.
    pub fn new(plan: &Verified, weights: Arc<[u8]>, threads: usize) -> Result<Self, HostError> {
        VectorLimit::said().as_ref().map_err(|said| HostError::Extensions(said.clone()))?;
        let busy = with_busy_streams(plan.plan());
        let folded = turning(fold(&busy, threads, Merging::ProgramOrder));
        let plan = verify(folded).map_err(|violations| HostError::Plan { threads, violations })?;
        let expected = plan.plan().memory.weights_bytes;
        if weights.len() as u64 != expected {
            return Err(HostError::Weights { expected, found: weights.len() });
        }
        let segments = &plan.plan().segments;
        let threads = segments.iter().map(|segment| segment_threads(segment, threads)).max().unwrap_or(1).max(1);
        Ok(Self::prepare(plan, weights, threads))
    }

    fn prepare(plan: Verified, mut weights: Arc<[u8]>, threads: usize) -> Self {
        let (ports, memory) = PortPlaces::of(&plan.plan().memory);
        // Constants are packed before there is an arena.
        let (nothing, faults) = (SharedArena::new(0), IndexFaults::default());
        let mut packed = PackedConstants::new(weights.len());
        let segments = plan.plan().segments.iter();
        let mut uses = ConstantUses::of(segments.clone().flat_map(|segment| segment.operators().values()), &memory);
        let mut pack = |operator: &ROperator, prepared: &mut HostOperator| {
            let constants =
                Memory { arena: &nothing, weights: &weights, staged: Vec::new(), faults: &faults, run: 0, bases: &[] };
            let ended = prepared.pack_constants(operator, &constants, &mut packed);
            uses.end(&ended, &mut weights);
        };
        let segments = segments.map(|segment| HostSegment::new(segment, &memory, &mut pack)).collect();
        Self { plan, threads, weights, segments, ports }
    }

    /// The threads that take part in a run, the caller's included: the most that a segment has rTasks for. At least 1.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The plan as it is run: folded onto the threads.
    pub fn plan(&self) -> &Verified {
        &self.plan
    }

    /// What a thread works in.
    pub(super) fn scratch(&self) -> TaskScratch {
        TaskScratch::new(self.segments.iter().flat_map(|segment| segment.operators.values()))
    }

    /// The byte at which a tensor begins that a verified plan places in the arena, or that is an input or output.
    pub(super) fn offset(&self, tensor: TensorId) -> usize {
        if let Some(number) = self.ports.number(tensor) {
            return self.ports.start(number);
        }
        let buffer = self.plan.plan().memory.tensors[tensor].buffer;
        buffer.expect("a verified plan places inputs, outputs and states").offset as usize
    }
}

impl HostSegment {
    fn new(segment: &Segment, memory: &MemoryPlan, mut pack: impl FnMut(&ROperator, &mut HostOperator)) -> Self {
        let mut known = KnownOperators::default();
        let prepared = segment.operators().values().map(|operator| {
            let mut prepared = HostOperator::new(operator, memory, &mut known);
            pack(operator, &mut prepared);
            prepared
        });
        let operators = prepared.collect();
        let (polls, signals) = match segment {
            Segment::Persistent(segment) => (Polls::of(segment, memory), signals(&segment.streams)),
            Segment::CudaGraph(_) => (Polls::default(), Vec::new()),
        };
        Self { operators, polls, signals }
    }
}

/// The most threads, of so many, that a segment has work for at a time.
fn segment_threads(segment: &Segment, threads: usize) -> usize {
    match segment {
        Segment::Persistent(segment) => segment.streams.len(),
        Segment::CudaGraph(segment) => segment.nodes.iter().map(|node| node_threads(node, threads)).max().unwrap_or(1),
    }
}

/// The threads, of so many, among which the blocks of a node are shared out.
pub(super) fn node_threads(node: &KernelNode, threads: usize) -> usize {
    threads.min(node.blocks as usize)
}
