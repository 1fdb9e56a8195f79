//! Where every tensor lives: an arena with reuse, and the weights.

pub mod join;

use crate::tuning::SearchTuning;
use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Arena;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::schedule::placement::{Placement, Time};
use warpweave_plan::plan::index_records::IndexRecords;
use warpweave_plan::plan::states::PlannedState;
use warpweave_plan::plan::{
    BUFFER_ALIGNMENT, Buffer, BufferSpace, EdgeKind, MemoryPlan, OperatorId, PlannedTensor, ROperator, TAGS,
};
use warpweave_plan::streams::completion::Completions;
use warpweave_plan::verify::signalling::NeverSignalling;

/// When tensors may share bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ArenaPolicy {
    /// As soon as the one is finished with before the other is written, whatever waits that takes.
    Small,
    /// Where the waits that it takes cost no time, or next to none, by the estimates.
    Fast,
    /// Never.
    Separate,
}

impl ArenaPolicy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Small, Self::Fast, Self::Separate];

    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Fast => "fast",
            Self::Separate => "separate",
        }
    }
}

/// The memory plan without buffers: types, layouts and kinds of edges only, which is what dependencies follow from.
pub fn unplaced(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    tagged_values: &BTreeSet<TensorId>,
) -> MemoryPlan {
    let edge = |tensor| if tagged_values.contains(&tensor) { EdgeKind::Tagged } else { EdgeKind::Counter };
    let tensors = program.tensors.iter().map(|(id, tensor)| PlannedTensor {
        ty: tensor.ty.clone(),
        layout: layouts[id].clone(),
        buffer: None,
        edge: edge(layouts[id].root),
        tag: 0,
    });
    MemoryPlan {
        tensors: tensors.collect(),
        inputs: program.inputs.clone(),
        outputs: program.outputs.clone(),
        states: states(program),
        ..MemoryPlan::default()
    }
}

/// What a program keeps between launches and replaces in each.
fn states(program: &TensorProgram) -> Vec<PlannedState> {
    program.states().map(|(tensor, next)| PlannedState { tensor, next }).collect()
}

/// A memory plan with what it asks of the schedule.
#[derive(Clone, Debug)]
pub struct PlacedMemory {
    pub memory: MemoryPlan,
    /// Per rOperator, those whose every rTask must end before any of its own begins, because it overwrites what they use.
    pub after: Arena<OperatorId, Vec<OperatorId>>,
    /// Bytes that no arena for this order of rTasks can do without: the most that are in use at once.
    pub bound_bytes: u64,
}

/// Gives every tensor that a kernel or the host touches a buffer.
///
/// Two buffers share bytes only where every rTask of an rOperator that touches the one stands before every rTask of an
/// rOperator that writes the other. The order is that of the placement, and `after` makes the schedule keep to it.
/// If the completion of other rOperators implies that of an rOperator, they stand in for it. Inputs and states keep their
/// bytes for the whole launch, so that a launch can be repeated; outputs and successors of states keep theirs to the end.
/// Tagged values share bytes with one another, each under its own tag, and with tensors that never hold a signalling NaN.
/// Two rules hold unless the arena has to be small. Tensors of rOperators that poll one another and stay on their units do
/// not share bytes: each reuse would take waits that are not needed otherwise. And bytes stay idle for `idle` before they are
/// reused.
pub fn place(
    mut memory: MemoryPlan,
    program: &TensorProgram,
    operators: &Arena<OperatorId, ROperator>,
    placement: &Placement,
    policy: ArenaPolicy,
    idle: Time,
) -> PlacedMemory {
    let periods = periods(operators.len(), placement);
    let mut buffers: BTreeMap<TensorId, Buffer> = BTreeMap::new();
    let mut lives = Vec::new();
    let staying = exchanging_in_place(&memory, operators);
    let (completions, never_signalling) =
        (Completions::of(operators, &memory), NeverSignalling::of(operators, &memory));
    let tagged_values = memory.tensors.values().filter(|tensor| tensor.edge == EdgeKind::Tagged).count();
    for (tensor, uses) in uses(&memory, operators, &completions) {
        let bytes = memory.tensors[tensor].bytes();
        if program.mutability(tensor).loads_non_coherently() {
            let offset = memory.weights_bytes.next_multiple_of(BUFFER_ALIGNMENT);
            memory.weights_bytes = offset + bytes;
            memory.constants.push(tensor);
            buffers.insert(tensor, Buffer { space: BufferSpace::Weights, offset, bytes });
        } else {
            let sharing = match policy {
                ArenaPolicy::Separate => None,
                ArenaPolicy::Fast if !uses.touching.is_disjoint(&staying) => None,
                ArenaPolicy::Fast | ArenaPolicy::Small => match memory.tensors[tensor].edge {
                    EdgeKind::Tagged => (tagged_values <= TAGS as usize).then_some(Sharing::Marked),
                    EdgeKind::Counter if never_signalling.never_signals(tensor) => Some(Sharing::NeverSignalling),
                    EdgeKind::Counter => Some(Sharing::Other),
                },
            };
            lives.push(Life { sharing, ..Life::new(tensor, bytes, uses, &periods) });
        }
    }
    let bound_bytes = most_at_once(&lives);
    let slack = match policy {
        ArenaPolicy::Small | ArenaPolicy::Separate => 0,
        ArenaPolicy::Fast => idle,
    };
    let states = blocks_of_states(&memory, &mut lives);
    let placed = pack(states, lives, |earlier, later| earlier.ends_before(later, slack));
    let buffers_end = placed.iter().map(|(_, buffer)| buffer.offset + buffer.bytes).max().unwrap_or(0);
    (memory.index_records, memory.arena_bytes) = IndexRecords::behind(buffers_end, operators.values());
    let is_polled = |tensor: TensorId| memory.tensors[tensor].edge == EdgeKind::Tagged;
    let after = overwritten(operators.len(), &placed, is_polled);
    for (tensor, tag) in tags(&memory, &placed) {
        memory.tensors[tensor].tag = tag;
    }
    buffers.extend(placed.into_iter().map(|(life, buffer)| (life.tensor, buffer)));
    for id in program.tensors.ids() {
        memory.tensors[id].buffer = buffers.get(&memory.tensors[id].layout.root).copied();
    }
    PlacedMemory { memory, after, bound_bytes }
}

/// The rTasks of an rOperator in the order of the placement: numbers of steps, and times.
#[derive(Clone, Copy)]
struct Period {
    first: usize,
    last: usize,
    start: Time,
    end: Time,
}

fn periods(operators: usize, placement: &Placement) -> Arena<OperatorId, Period> {
    let never = Period { first: usize::MAX, last: 0, start: Time::MAX, end: 0 };
    let mut periods: Arena<OperatorId, Period> = (0..operators).map(|_| never).collect();
    for (number, step) in placement.steps.iter().enumerate() {
        let period = &mut periods[step.task.operator];
        *period = Period {
            first: period.first.min(number),
            last: number,
            start: period.start.min(step.start),
            end: period.end.max(step.end),
        };
    }
    periods
}

/// The rOperators that write or poll tagged values and whose rTasks stay on their units.
fn exchanging_in_place(memory: &MemoryPlan, operators: &Arena<OperatorId, ROperator>) -> BTreeSet<OperatorId> {
    let is_tagged = |tensor: &TensorId| memory.tensors[*tensor].edge == EdgeKind::Tagged;
    let exchanges = |operator: &ROperator| {
        let stays = operator.kernel.rules().holds_residents();
        stays && operator.kernel.body().operands.iter().chain(&operator.kernel.body().outputs).any(is_tagged)
    };
    operators.iter().filter(|(_, operator)| exchanges(operator)).map(|(id, _)| id).collect()
}

/// Who uses a root.
#[derive(Clone, Debug, Default)]
struct Uses {
    writers: BTreeSet<OperatorId>,
    touching: BTreeSet<OperatorId>,
    /// The rOperators whose completion implies that of all in `touching`.
    completions: BTreeSet<OperatorId>,
    is_live_in: bool,
    is_live_out: bool,
}

fn uses(
    memory: &MemoryPlan,
    operators: &Arena<OperatorId, ROperator>,
    completions: &Completions,
) -> BTreeMap<TensorId, Uses> {
    let mut roots: BTreeMap<TensorId, Uses> = BTreeMap::new();
    let root = |tensor: TensorId| memory.tensors[tensor].layout.root;
    for input in memory.live_in() {
        roots.entry(root(input)).or_default().is_live_in = true;
    }
    for output in memory.live_out() {
        roots.entry(root(output)).or_default().is_live_out = true;
    }
    for (id, operator) in operators.iter() {
        for &tensor in operator.kernel.body().operands.iter().chain(&operator.kernel.body().outputs) {
            let uses = roots.entry(root(tensor)).or_default();
            uses.touching.insert(id);
            uses.completions.extend(completions.operators(id));
        }
        for &tensor in &operator.kernel.body().outputs {
            roots.entry(root(tensor)).or_default().writers.insert(id);
        }
    }
    roots
}

/// A root and when it is in use.
struct Life {
    tensor: TensorId,
    bytes: u64,
    uses: Uses,
    first: usize,
    last: usize,
    start: Time,
    /// The step and the time from which its last use is known to be complete.
    known: usize,
    end: Time,
    /// What it is where bytes are shared, if it shares its own.
    sharing: Option<Sharing>,
}

/// What a root is where bytes are shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sharing {
    /// Its values carry tags.
    Marked,
    /// Its values are never taken for tags.
    NeverSignalling,
    /// Its values may be.
    Other,
}

impl Sharing {
    fn may_share(self, other: Self) -> bool {
        match (self, other) {
            (Self::Marked, Self::Other) | (Self::Other, Self::Marked) => false,
            (Self::Marked | Self::NeverSignalling, Self::Marked | Self::NeverSignalling)
            | (Self::NeverSignalling | Self::Other, Self::Other)
            | (Self::Other, Self::NeverSignalling) => true,
        }
    }
}

impl Life {
    fn new(tensor: TensorId, bytes: u64, uses: Uses, periods: &Arena<OperatorId, Period>) -> Self {
        let written = || uses.writers.iter().map(|&operator| periods[operator]);
        let touched = uses.touching.iter().map(|&operator| periods[operator]);
        let completed = || uses.completions.iter().map(|&operator| periods[operator]);
        let mut first = written().map(|period| period.first).min().unwrap_or(0);
        let mut last = touched.map(|period| period.last).max().unwrap_or(0);
        let mut known = completed().map(|period| period.last).max().unwrap_or(0);
        if uses.is_live_in {
            first = 0;
        }
        if uses.is_live_in || uses.is_live_out {
            (last, known) = (usize::MAX, usize::MAX);
        }
        let start = written().map(|period| period.start).min().unwrap_or(0);
        let end = completed().map(|period| period.end).max().unwrap_or(0);
        Self { tensor, bytes, uses, first, last, start, known, end, sharing: None }
    }

    /// Whether a later tensor may take these bytes. Reusing small buffers saves little, so it takes more slack: a wait that it
    /// may cause costs more.
    fn ends_before(&self, later: &Self, slack: Time) -> bool {
        let slack = if self.bytes.min(later.bytes) <= SearchTuning::DEFAULT.schedule.small_bytes {
            SMALL_SLACK * slack
        } else {
            slack
        };
        let share = self.sharing.zip(later.sharing).is_some_and(|(own, later)| own.may_share(later));
        share && self.known < later.first && (slack == 0 || self.end + slack <= later.start)
    }
}

const SMALL_SLACK: Time = 8;

/// The most bytes in use between two steps.
fn most_at_once(lives: &[Life]) -> u64 {
    let mut changes: Vec<(usize, bool, u64)> = Vec::new();
    for life in lives {
        changes.push((life.first, true, life.bytes));
        changes.push((life.last.saturating_add(1), false, life.bytes));
    }
    // What ends makes room before anything begins.
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, begins, bytes) in changes {
        now = if begins { now + bytes } else { now - bytes };
        most = most.max(now);
    }
    most
}

/// Buffers for states and, behind all of them and in the same order, for what they become. Nothing shares their bytes, so that
/// they are exchanged between launches.
fn blocks_of_states(memory: &MemoryPlan, lives: &mut Vec<Life>) -> Vec<(Life, Buffer)> {
    let mut taken: BTreeMap<TensorId, Life> = BTreeMap::new();
    let named: BTreeSet<TensorId> = memory.states.iter().flat_map(|state| [state.tensor, state.next]).collect();
    let (of_states, others) =
        std::mem::take(lives).into_iter().partition::<Vec<_>, _>(|life| named.contains(&life.tensor));
    *lives = others;
    taken.extend(of_states.into_iter().map(|life| (life.tensor, life)));
    let is_pair = |state: &&PlannedState| taken.contains_key(&state.tensor) && taken.contains_key(&state.next);
    let mut seen = BTreeSet::new();
    let pairs: Vec<PlannedState> =
        memory.states.iter().filter(is_pair).filter(|state| seen.insert(state.next)).copied().collect();
    let mut offset = 0u64;
    let mut placed = Vec::with_capacity(named.len());
    for part in [|state: &PlannedState| state.tensor, |state: &PlannedState| state.next] {
        for tensor in pairs.iter().map(part) {
            let Some(life) = taken.remove(&tensor) else { continue };
            let buffer = Buffer { space: BufferSpace::Arena, offset, bytes: life.bytes };
            offset = (offset + life.bytes.max(1)).next_multiple_of(BUFFER_ALIGNMENT);
            placed.push((Life { sharing: None, ..life }, buffer));
        }
    }
    lives.extend(taken.into_values());
    placed
}

/// Buffers for all roots, those that are `placed` already first, then the largest, each as low as those that it must not overlap
/// allow.
fn pack(
    mut placed: Vec<(Life, Buffer)>,
    mut lives: Vec<Life>,
    may_follow: impl Fn(&Life, &Life) -> bool,
) -> Vec<(Life, Buffer)> {
    lives.sort_by_key(|life| (std::cmp::Reverse(life.bytes), life.first, life.tensor));
    // Buffers by offset, so that the first gap is found in one pass.
    let mut by_offset: Vec<usize> = (0..placed.len()).collect();
    for life in lives {
        let mut offset = 0u64;
        for &at in &by_offset {
            let (other, buffer) = &placed[at];
            if buffer.offset + buffer.bytes <= offset || may_follow(other, &life) || may_follow(&life, other) {
                continue;
            }
            if offset + life.bytes.max(1) <= buffer.offset {
                break;
            }
            offset = (buffer.offset + buffer.bytes.max(1)).next_multiple_of(BUFFER_ALIGNMENT);
        }
        let buffer = Buffer { space: BufferSpace::Arena, offset, bytes: life.bytes };
        let position = by_offset.partition_point(|&at| placed[at].1.offset <= offset);
        by_offset.insert(position, placed.len());
        placed.push((life, buffer));
    }
    placed
}

/// Per rOperator, the users of what it overwrites.
///
/// Roots take their bytes over from one another in the order in which they are first written; users of earlier owners
/// come before those of later ones. A wait for the users of a tensor implies the waits of its writers, except across polled
/// edges, which order nothing earlier.
fn overwritten(
    operators: usize,
    placed: &[(Life, Buffer)],
    is_polled: impl Fn(TensorId) -> bool,
) -> Arena<OperatorId, Vec<OperatorId>> {
    let mut after: Arena<OperatorId, BTreeSet<OperatorId>> = (0..operators).map(|_| BTreeSet::new()).collect();
    let mut preceding: Vec<BTreeSet<OperatorId>> = vec![BTreeSet::new(); placed.len()];
    let mut order: Vec<usize> = (0..placed.len()).filter(|&at| placed[at].1.bytes > 0).collect();
    order.sort_by_key(|&at| (placed[at].0.first, placed[at].0.tensor));
    let mut owners: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    for at in order {
        let (life, buffer) = &placed[at];
        let (start, end) = (buffer.offset, buffer.offset + buffer.bytes);
        let before = owners.range(..start).next_back().filter(|(_, (owned, _))| *owned > start);
        let met: Vec<(u64, (u64, usize))> =
            before.into_iter().chain(owners.range(start..end)).map(|(from, owner)| (*from, *owner)).collect();
        for (from, (to, owner)) in met {
            owners.remove(&from);
            if from < start {
                owners.insert(from, (start, owner));
            }
            if to > end {
                owners.insert(end, (to, owner));
            }
            let uses = &placed[owner].0.uses;
            let forgotten = if is_polled(placed[owner].0.tensor) { preceding[owner].clone() } else { BTreeSet::new() };
            preceding[at].extend(uses.completions.iter().copied().chain(forgotten));
        }
        for &writer in &life.uses.writers {
            after[writer].extend(&preceding[at]);
        }
        owners.insert(start, (end, at));
    }
    after.values().map(|operators| operators.iter().copied().collect()).collect()
}

/// A tag for every tagged value, larger than those of all that had some of its bytes before.
fn tags(memory: &MemoryPlan, placed: &[(Life, Buffer)]) -> BTreeMap<TensorId, u32> {
    let is_tagged = |(life, _): &&(Life, Buffer)| memory.tensors[life.tensor].edge == EdgeKind::Tagged;
    let mut order: Vec<&(Life, Buffer)> = placed.iter().filter(is_tagged).collect();
    order.sort_by_key(|(life, _)| (life.first, life.tensor));
    let mut tags: BTreeMap<TensorId, u32> = BTreeMap::new();
    for (at, (life, buffer)) in order.iter().enumerate() {
        let shares = |(_, other): &&&(Life, Buffer)| buffer.overlaps(other);
        let before = order[..at].iter().filter(shares).map(|(life, _)| tags[&life.tensor] + 1);
        let tag = before.max().unwrap_or(0);
        tags.insert(life.tensor, tag);
    }
    tags
}
