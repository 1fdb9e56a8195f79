//! The waits of a segment, the segment without one of them, and the part of it that leads to some rTasks.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;

use crate::plan::{CounterId, ExecutionPlan, Instruction, PersistentSegment, RTask, Segment};
use crate::streams::polls::Polls;

/// A wait and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlannedWait {
    /// The unit.
    pub unit: usize,
    /// The position in its stream.
    pub position: usize,
    /// The counter.
    pub counter: CounterId,
    /// The signals that are waited for.
    pub signals: u32,
}

/// The waits of a segment, unit by unit in the order of the streams.
pub fn waits(segment: &PersistentSegment) -> impl Iterator<Item = PlannedWait> {
    segment.streams.iter().enumerate().flat_map(|(unit, stream)| {
        stream.iter().enumerate().filter_map(move |(position, instruction)| match *instruction {
            Instruction::Wait { counter, signals } => Some(PlannedWait { unit, position, counter, signals }),
            Instruction::Run(_) | Instruction::Hold(_) | Instruction::Prefetch(_) | Instruction::Signal(_) => None,
        })
    })
}

/// The plan without a wait of its segment. Nothing is proved of it.
pub fn without(plan: &ExecutionPlan, wait: PlannedWait) -> ExecutionPlan {
    let mut segment = plan.persistent().clone();
    segment.streams[wait.unit].remove(wait.position);
    ExecutionPlan { segments: vec![Segment::Persistent(segment)], memory: plan.memory.clone() }
}

/// The segment cut down to these rTasks and whatever happens before them. It runs to its end if the segment does; its
/// counters may get fewer signals than they declare.
pub fn leading_to(segment: &PersistentSegment, polls: &Polls, tasks: &[RTask]) -> PersistentSegment {
    let mut places = BTreeMap::new();
    let mut signals: Arena<CounterId, Vec<(usize, usize)>> = segment.counters.values().map(|_| Vec::new()).collect();
    for (unit, stream) in segment.streams.iter().enumerate() {
        for (position, instruction) in stream.iter().enumerate() {
            match *instruction {
                Instruction::Run(task) => _ = places.insert(task, (unit, position)),
                Instruction::Signal(counter) => signals[counter].push((unit, position)),
                Instruction::Wait { .. } | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
            }
        }
    }
    let mut lengths = vec![0; segment.units()];
    let mut followed = lengths.clone();
    let mut wanted: Vec<(usize, usize)> = tasks.iter().filter_map(|task| places.get(task).copied()).collect();
    while let Some((unit, position)) = wanted.pop() {
        lengths[unit] = lengths[unit].max(position + 1);
        for instruction in &segment.streams[unit][followed[unit]..lengths[unit].max(followed[unit])] {
            match *instruction {
                Instruction::Run(task) => wanted.extend(polls.writers(task).iter().map(|writer| places[writer])),
                // Of fewer signals than arrive all come from one unit, the first of its stream first.
                Instruction::Wait { counter, signals: count } => {
                    wanted.extend(signals[counter].iter().take(count as usize));
                }
                Instruction::Signal(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
            }
        }
        followed[unit] = lengths[unit];
    }
    let streams = segment.streams.iter().zip(lengths).map(|(stream, length)| stream[..length].to_vec());
    PersistentSegment { streams: streams.collect(), ..segment.clone() }
}
