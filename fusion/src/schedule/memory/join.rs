//! Several plans of one segment each, put together: tensors under one numbering, in one memory.

use std::collections::BTreeMap;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::{TensorId, TensorProgram};

use crate::schedule::memory::{ArenaPolicy, states};
use warpweave_plan::plan::index_records::IndexRecords;
use warpweave_plan::plan::{
    BUFFER_ALIGNMENT, Buffer, BufferSpace, EdgeKind, ExecutionPlan, MemoryPlan, OperatorId, PlannedTensor, ROperator,
    Segment,
};

/// One plan of what plans of successive parts of `program` run. Each numbers the tensors of the program as the program
/// does, and its own behind them. What it takes over from others stands among its inputs and what it leaves to them
/// among its outputs.
///
/// Buffers of a segment share bytes only where they do in its own plan, so the waits that this takes are there. Buffers
/// of different segments share bytes wherever the one is finished with in an earlier segment than the other is first
/// used in. Inputs of the program keep their bytes for the whole launch, its outputs to the end.
pub(crate) fn join(program: &TensorProgram, policy: ArenaPolicy, plans: Vec<ExecutionPlan>) -> ExecutionPlan {
    let known = program.tensors.len();
    let mut memory = MemoryPlan {
        inputs: program.inputs.clone(),
        outputs: program.outputs.clone(),
        states: states(program),
        ..MemoryPlan::default()
    };
    memory.tensors = program.tensors.ids().map(|id| common(&plans, id)).collect();
    let mut lives: BTreeMap<TensorId, Life> = BTreeMap::new();
    let mut segments = Vec::new();
    let count = plans.len();
    for (at, plan) in plans.into_iter().enumerate() {
        let first_own = memory.tensors.len();
        let number = |tensor: TensorId| match tensor.index().checked_sub(known) {
            None => tensor,
            Some(own) => TensorId::from_index(first_own + own),
        };
        let own = plan.memory.tensors.values().skip(known).map(|tensor| {
            let mut tensor = PlannedTensor { buffer: None, ..tensor.clone() };
            tensor.layout.root = number(tensor.layout.root);
            tensor
        });
        own.for_each(|tensor| _ = memory.tensors.push(tensor));
        for (id, tensor) in plan.memory.tensors.iter().filter(|(id, tensor)| tensor.layout.root == *id) {
            if let Some(buffer) = tensor.buffer {
                lives.entry(number(id)).or_insert_with(|| Life::new(at)).add(at, buffer);
            }
        }
        segments.extend(plan.segments.into_iter().map(|segment| with_tensors(segment, &number)));
    }
    let root = |tensor: TensorId| memory.tensors[tensor].layout.root;
    for input in memory.live_in().map(root) {
        lives.entry(input).or_insert_with(|| Life::new(0)).span = (0, count);
    }
    for output in memory.live_out().map(root) {
        lives.entry(output).or_insert_with(|| Life::new(0)).span.1 = count;
    }
    place(&mut memory, program, policy, lives);
    let operators = segments.iter().flat_map(|segment| segment.operators().values());
    (memory.index_records, memory.arena_bytes) = IndexRecords::behind(memory.arena_bytes, operators);
    ExecutionPlan { segments, memory }
}

/// How a tensor of the program is stored: with its own validity if any segment has it so, which then is the only one that
/// uses it.
fn common(plans: &[ExecutionPlan], id: TensorId) -> PlannedTensor {
    let mut of_plans = plans.iter().map(|plan| &plan.memory.tensors[id]);
    let tagged = of_plans.clone().find(|tensor| tensor.edge == EdgeKind::Tagged);
    let tensor = tagged.or_else(|| of_plans.next()).expect("there are plans");
    PlannedTensor { buffer: None, ..tensor.clone() }
}

fn with_tensors(segment: Segment, number: &impl Fn(TensorId) -> TensorId) -> Segment {
    let renumber = |operators: &mut Arena<OperatorId, ROperator>| {
        for operator in operators.values_mut() {
            let body = operator.kernel.body_mut();
            body.operands.iter_mut().chain(&mut body.outputs).for_each(|tensor| *tensor = number(*tensor));
        }
    };
    match segment {
        Segment::Persistent(mut segment) => {
            renumber(&mut segment.operators);
            Segment::Persistent(segment)
        }
        Segment::CudaGraph(mut segment) => {
            renumber(&mut segment.operators);
            Segment::CudaGraph(segment)
        }
    }
}

/// In which segments a root is in use, the first and the last, and where it lies in the plan of the only one that uses it.
struct Life {
    span: (usize, usize),
    own: Option<Buffer>,
}

impl Life {
    fn new(segment: usize) -> Self {
        Self { span: (segment, segment), own: None }
    }

    /// It is used in this segment, which is no earlier than those so far.
    fn add(&mut self, segment: usize, buffer: Buffer) {
        self.own = (self.span.0 == segment).then_some(buffer);
        self.span.1 = segment;
    }

    /// The place in a segment's own plan of what no other segment and not the host uses.
    fn local(&self) -> Option<Buffer> {
        self.own.filter(|_| self.span.0 == self.span.1)
    }

    fn may_share(&self, other: &Self) -> bool {
        let apart = self.span.1 < other.span.0 || other.span.1 < self.span.0;
        apart || self.may_share_within(other)
    }

    /// Whether they do in the plan of the segment that alone uses both.
    fn may_share_within(&self, other: &Self) -> bool {
        let meet = |(one, other): (Buffer, Buffer)| one.overlaps(&other);
        self.span == other.span && self.local().zip(other.local()).is_some_and(meet)
    }
}

/// Gives every root a buffer, and every tensor that of its root.
fn place(memory: &mut MemoryPlan, program: &TensorProgram, policy: ArenaPolicy, lives: BTreeMap<TensorId, Life>) {
    let mut buffers: BTreeMap<TensorId, Buffer> = BTreeMap::new();
    let loads_non_coherently = |root: &TensorId| {
        program.tensors.get(*root).is_some_and(|tensor| tensor.source.mutability().loads_non_coherently())
    };
    let (constants, variables): (Vec<_>, Vec<_>) = lives.into_iter().partition(|(root, _)| loads_non_coherently(root));
    for (root, _) in constants {
        let offset = memory.weights_bytes.next_multiple_of(BUFFER_ALIGNMENT);
        let bytes = memory.tensors[root].bytes();
        memory.weights_bytes = offset + bytes;
        memory.constants.push(root);
        buffers.insert(root, Buffer { space: BufferSpace::Weights, offset, bytes });
    }
    let mut variables: Vec<(TensorId, u64, Life)> =
        variables.into_iter().map(|(root, life)| (root, memory.tensors[root].bytes(), life)).collect();
    variables.sort_by_key(|(root, bytes, life)| (std::cmp::Reverse(*bytes), life.span, *root));
    let carries_tag = |root: TensorId| memory.tensors[root].edge == EdgeKind::Tagged;
    // Those that have a place, by offset.
    let mut placed: Vec<(Buffer, usize)> = Vec::new();
    for (at, (root, bytes, life)) in variables.iter().enumerate() {
        let mut offset = 0u64;
        for (buffer, other) in &placed {
            let (other_root, _, other) = &variables[*other];
            // Tags are told apart within a segment's own plan.
            let may_share = match carries_tag(*root) || carries_tag(*other_root) {
                true => life.may_share_within(other),
                false => life.may_share(other),
            };
            if policy != ArenaPolicy::Separate && may_share || buffer.offset + buffer.bytes <= offset {
                continue;
            }
            if offset + (*bytes).max(1) <= buffer.offset {
                break;
            }
            offset = (buffer.offset + buffer.bytes.max(1)).next_multiple_of(BUFFER_ALIGNMENT);
        }
        let buffer = Buffer { space: BufferSpace::Arena, offset, bytes: *bytes };
        placed.insert(placed.partition_point(|(other, _)| other.offset <= offset), (buffer, at));
        buffers.insert(*root, buffer);
    }
    let buffers_end = placed.iter().map(|(buffer, _)| buffer.offset + buffer.bytes).max().unwrap_or(0);
    memory.arena_bytes = buffers_end;
    for id in memory.tensors.ids().collect::<Vec<TensorId>>() {
        memory.tensors[id].buffer = buffers.get(&memory.tensors[id].layout.root).copied();
    }
}
