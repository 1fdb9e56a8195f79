//! Plans with one change.

use std::collections::BTreeSet;

use warpweave::graph::program::TensorId;
use warpweave::plan::plan::{CounterId, EdgeKind, ExecutionPlan, Instruction, PersistentSegment, Segment};
use warpweave_tests::random::Random;

/// A place in a stream.
pub type At = (usize, usize);

/// How the rest of the plan follows when a signal is dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Follow {
    /// Not at all.
    Nothing,
    /// The counter declares one signal less.
    Declaration,
    /// The counter declares one less, and who waited for all waits for one less.
    DeclarationAndWaits,
}

/// A change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Change {
    /// A wait is left out.
    DropWait(At),
    /// A signal is left out.
    DropSignal(At, Follow),
    /// A wait is for one signal less.
    WeakenWait(At),
    /// An rTask and the next one of its stream change places.
    SwapTasks(At),
    /// The second tensor lives where the first does, so many aligned steps further on.
    Alias(TensorId, TensorId, u64),
    /// An rTask runs again at the end of a stream.
    DuplicateTask(At, usize),
    /// An rTask is left out.
    LoseTask(At),
    /// An rTask goes to a place of another stream.
    MoveTask(At, At),
    /// A signal comes before the rTasks that it follows.
    HastenSignal(At),
    /// Constants are not brought on chip, or not loaded before the waits.
    DropLoad(At),
    /// Constants are brought on chip, or loaded, at another place of the stream.
    MoveLoad(At, usize),
    /// A tensor's values no longer carry their validity.
    DropTags(TensorId),
    /// A tensor's values carry the tag before their own.
    LowerMark(TensorId),
}

impl Change {
    /// The name of its kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::DropWait(_) => "drop wait",
            Self::DropSignal(_, Follow::Nothing) => "drop signal",
            Self::DropSignal(_, Follow::Declaration) => "drop signal, declared",
            Self::DropSignal(_, Follow::DeclarationAndWaits) => "drop signal, declared and awaited",
            Self::WeakenWait(_) => "weaken wait",
            Self::SwapTasks(_) => "swap tasks",
            Self::Alias(..) => "alias buffers",
            Self::DuplicateTask(..) => "duplicate task",
            Self::LoseTask(_) => "lose task",
            Self::MoveTask(..) => "move task",
            Self::HastenSignal(_) => "hasten signal",
            Self::DropLoad(_) => "drop load",
            Self::MoveLoad(..) => "move load",
            Self::DropTags(_) => "drop tags",
            Self::LowerMark(_) => "lower tag",
        }
    }

    /// The plan with this change.
    pub fn apply(self, plan: &ExecutionPlan) -> ExecutionPlan {
        let mut mutant = plan.clone();
        if let Self::Alias(kept, moved, steps) = self {
            alias(&mut mutant, kept, moved, steps);
            return mutant;
        }
        if let Self::DropTags(tensor) = self {
            let planned = &mut mutant.memory.tensors[tensor];
            planned.edge = EdgeKind::Counter;
            let bytes = planned.bytes();
            planned.buffer.as_mut().expect("a live tensor").bytes = bytes;
            return mutant;
        }
        if let Self::LowerMark(tensor) = self {
            mutant.memory.tensors[tensor].tag -= 1;
            return mutant;
        }
        let [Segment::Persistent(segment)] = mutant.segments.as_mut_slice() else {
            unreachable!("plans have one persistent segment")
        };
        change(segment, self);
        mutant
    }
}

fn change(segment: &mut PersistentSegment, change: Change) {
    let streams = &mut segment.streams;
    match change {
        Change::DropWait((unit, at)) | Change::LoseTask((unit, at)) | Change::DropLoad((unit, at)) => {
            _ = streams[unit].remove(at);
        }
        Change::MoveLoad((unit, at), place) => {
            let load = streams[unit].remove(at);
            streams[unit].insert(place, load);
        }
        Change::DropSignal((unit, at), follow) => {
            let Instruction::Signal(counter) = streams[unit].remove(at) else { unreachable!("a signal is dropped") };
            if follow != Follow::Nothing {
                segment.counters[counter].arrivals -= 1;
            }
            if follow == Follow::DeclarationAndWaits {
                lower_waits(segment, counter);
            }
        }
        Change::WeakenWait((unit, at)) => {
            let Instruction::Wait { signals, .. } = &mut streams[unit][at] else { unreachable!("a wait is weakened") };
            *signals -= 1;
        }
        Change::SwapTasks((unit, at)) => {
            let is_run = |instruction: &Instruction| matches!(instruction, Instruction::Run(_));
            let next = streams[unit][at + 1..].iter().position(is_run).expect("another rTask follows");
            streams[unit].swap(at, at + 1 + next);
        }
        Change::DuplicateTask((unit, at), other) => {
            let task = streams[unit][at];
            streams[other].push(task);
        }
        Change::MoveTask((unit, at), (other, place)) => {
            let task = streams[unit].remove(at);
            streams[other].insert(place, task);
        }
        Change::HastenSignal((unit, at)) => {
            let is_run = |instruction: &Instruction| matches!(instruction, Instruction::Run(_));
            let runs = streams[unit][..at].iter().rev().take_while(|instruction| is_run(instruction)).count();
            let signal = streams[unit].remove(at);
            streams[unit].insert(at - runs, signal);
        }
        Change::Alias(..) | Change::DropTags(_) | Change::LowerMark(_) => unreachable!("memory is changed elsewhere"),
    }
}

fn lower_waits(segment: &mut PersistentSegment, lowered: CounterId) {
    let all = segment.counters[lowered].arrivals + 1;
    for instruction in segment.streams.iter_mut().flatten() {
        if let Instruction::Wait { counter, signals } = instruction
            && *counter == lowered
            && *signals == all
        {
            *signals -= 1;
        }
    }
}

fn alias(plan: &mut ExecutionPlan, kept: TensorId, moved: TensorId, steps: u64) {
    let memory = &mut plan.memory;
    let start = memory.tensors[kept].buffer.expect("a live tensor").offset;
    let offset = start + steps * warpweave::plan::plan::BUFFER_ALIGNMENT;
    for id in memory.tensors.ids() {
        let planned = &mut memory.tensors[id];
        if planned.layout.root == moved
            && let Some(buffer) = &mut planned.buffer
        {
            buffer.offset = offset;
            memory.arena_bytes = memory.arena_bytes.max(offset + buffer.bytes);
        }
    }
}

/// Every change of a plan; rTasks move to and are repeated on one random other place each.
pub fn all(plan: &ExecutionPlan, random: &mut Random) -> Vec<Change> {
    let segment = plan.persistent();
    let streams = &segment.streams;
    let mut changes = Vec::new();
    for (unit, stream) in streams.iter().enumerate() {
        for (position, instruction) in stream.iter().enumerate() {
            let at = (unit, position);
            match *instruction {
                Instruction::Wait { .. } => changes.extend([Change::DropWait(at), Change::WeakenWait(at)]),
                Instruction::Signal(_) => {
                    let follows = [Follow::Nothing, Follow::Declaration, Follow::DeclarationAndWaits];
                    changes.extend(follows.map(|follow| Change::DropSignal(at, follow)));
                    changes.push(Change::HastenSignal(at));
                }
                Instruction::Hold(_) | Instruction::Prefetch(_) => {
                    changes.push(Change::DropLoad(at));
                    let place = random.below(stream.len());
                    if place != position {
                        changes.push(Change::MoveLoad(at, place));
                    }
                }
                Instruction::Run(_) => {
                    let other = random.below(streams.len());
                    let room = streams[other].len() + usize::from(other != unit);
                    let target = (other, random.below(room));
                    changes.extend([Change::LoseTask(at), Change::DuplicateTask(at, other)]);
                    if target != at {
                        changes.push(Change::MoveTask(at, target));
                    }
                    if stream[position + 1..].iter().any(|next| matches!(next, Instruction::Run(_))) {
                        changes.push(Change::SwapTasks(at));
                    }
                }
            }
        }
    }
    let roots: BTreeSet<TensorId> = touched(plan);
    let is_tagged = |root: &&TensorId| plan.memory.tensors[**root].edge == EdgeKind::Tagged;
    changes.extend(roots.iter().filter(is_tagged).map(|root| Change::DropTags(*root)));
    let is_later = |root: &&TensorId| is_tagged(root) && plan.memory.tensors[**root].tag > 0;
    changes.extend(roots.iter().filter(is_later).map(|root| Change::LowerMark(*root)));
    for &kept in &roots {
        for &moved in roots.iter().filter(|&&moved| moved != kept) {
            let space = |tensor: TensorId| plan.memory.tensors[tensor].buffer.map(|buffer| buffer.space);
            let place = |tensor: TensorId| plan.memory.tensors[tensor].buffer.map(|buffer| buffer.offset);
            if space(kept) == space(moved) && place(kept) != place(moved) {
                changes.extend([Change::Alias(kept, moved, 0), Change::Alias(kept, moved, 1)]);
            }
        }
    }
    changes
}

/// The roots that the launch or the host touches.
fn touched(plan: &ExecutionPlan) -> BTreeSet<TensorId> {
    let memory = &plan.memory;
    let operators = plan.persistent().operators.values();
    let tensors =
        operators.flat_map(|operator| operator.kernel.body().operands.iter().chain(&operator.kernel.body().outputs));
    let host = memory.live_in().chain(memory.live_out());
    tensors.copied().chain(host).map(|tensor| memory.tensors[tensor].layout.root).collect()
}
