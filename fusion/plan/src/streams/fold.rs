//! Folds a plan onto fewer virtual execution units.
//!
//! An rTask that polls stands in the global order after all rTasks whose tagged values it polls. So in a merged stream
//! no rTask polls what a later one of the same stream writes. By induction over the global order every stream gets to
//! its end: the first rTask that has not ended waits only for what stands before it, which has ended.

use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;

use crate::plan::{CounterId, ExecutionPlan, Instruction, MemoryPlan, PersistentSegment, RTask, Segment};
use crate::streams::polls::Polls;
use crate::streams::prefetch::{with_prefetches, without_prefetches};
use crate::streams::residency::with_holds;

/// Whose instruction comes next where streams are merged, of those that can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merging {
    /// Units take turns an instruction at a time, so that work which can run side by side stays interleaved.
    Turns,
    /// The unit whose next rTask is of the first rOperator: merged streams are in the order of the program where theirs are.
    ProgramOrder,
}

/// The plan on at most `units` units. Streams are merged in the order in which one execution runs them. So every merged
/// stream agrees with one global rank and no new deadlock can arise. Must be verified again.
///
/// A plan whose streams do not end, or that has no more than `units` units, comes back as it is. So does a graph, whose
/// blocks run on whatever units there are.
pub fn fold(plan: &ExecutionPlan, units: usize, merging: Merging) -> ExecutionPlan {
    let segments = plan.segments.iter().map(|segment| match segment {
        Segment::Persistent(segment) => {
            let polls = Polls::of(segment, &plan.memory);
            Segment::Persistent(fold_segment(segment, &plan.memory, &polls, (units.max(1), merging)))
        }
        Segment::CudaGraph(segment) => Segment::CudaGraph(segment.clone()),
    });
    ExecutionPlan { segments: segments.collect(), memory: plan.memory.clone() }
}

fn fold_segment(
    segment: &PersistentSegment,
    memory: &MemoryPlan,
    polls: &Polls,
    (units, merging): (usize, Merging),
) -> PersistentSegment {
    if segment.units() <= units {
        return segment.clone();
    }
    let Some(order) = global_order(segment, polls, merging) else { return segment.clone() };
    let mut streams: Vec<Vec<Instruction>> = vec![Vec::new(); units];
    for (unit, position) in order {
        streams[unit % units].push(segment.streams[unit][position]);
    }
    let streams = with_holds(without_prefetches(streams), &segment.operators);
    let streams = match segment.prefetches() {
        0 => streams,
        _ => with_prefetches(streams, &segment.operators, memory),
    };
    PersistentSegment { streams, ..segment.clone() }
}

/// All instructions, as (unit, position), in an order in which they can run; `None` for a deadlock.
fn global_order(segment: &PersistentSegment, polls: &Polls, merging: Merging) -> Option<Vec<(usize, usize)>> {
    let mut execution = Execution::new(segment, polls);
    let total: usize = segment.streams.iter().map(Vec::len).sum();
    let mut order = Vec::with_capacity(total);
    while order.len() < total {
        let before = order.len();
        match merging {
            Merging::Turns => order.extend((0..segment.units()).filter_map(|unit| execution.step(unit))),
            Merging::ProgramOrder => order.extend(execution.first_of_program()),
        }
        if order.len() == before {
            return None;
        }
    }
    Some(order)
}

/// One execution of a segment's streams.
struct Execution<'s> {
    segment: &'s PersistentSegment,
    polls: &'s Polls,
    signalled: Arena<CounterId, u32>,
    positions: Vec<usize>,
    ran: BTreeSet<RTask>,
}

impl<'s> Execution<'s> {
    fn new(segment: &'s PersistentSegment, polls: &'s Polls) -> Self {
        let signalled = segment.counters.values().map(|_| 0).collect();
        Self { segment, polls, signalled, positions: vec![0; segment.units()], ran: BTreeSet::new() }
    }

    /// Executes a unit's next instruction, and says which; `None` if it has none or has to wait.
    fn step(&mut self, unit: usize) -> Option<(usize, usize)> {
        let position = self.positions[unit];
        match *self.segment.streams[unit].get(position)? {
            Instruction::Wait { counter, signals } if self.signalled[counter] < signals => return None,
            Instruction::Signal(counter) => self.signalled[counter] += 1,
            Instruction::Run(task) => {
                if !self.polls.writers(task).iter().all(|writer| self.ran.contains(writer)) {
                    return None;
                }
                if self.polls.is_polled(task) {
                    self.ran.insert(task);
                }
            }
            Instruction::Wait { .. } | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
        }
        self.positions[unit] += 1;
        Some((unit, position))
    }

    /// Executes the next rTask of the first rOperator among those that units can come to, with what stands before and after it.
    fn first_of_program(&mut self) -> Vec<(usize, usize)> {
        let next = |unit: usize| {
            let rest = &self.segment.streams[unit][self.positions[unit]..];
            rest.iter().find_map(|instruction| match instruction {
                Instruction::Run(task) => Some(*task),
                _ => None,
            })
        };
        let mut units: Vec<(Option<RTask>, usize)> = (0..self.segment.units()).map(|unit| (next(unit), unit)).collect();
        units.sort_by_key(|(task, unit)| (task.is_none(), *task, *unit));
        for (_, unit) in units {
            let mut done: Vec<(usize, usize)> = Vec::new();
            while let Some(step) = self.step(unit) {
                done.push(step);
                if self.is_at_end_of_task(unit) {
                    break;
                }
            }
            if !done.is_empty() {
                return done;
            }
        }
        Vec::new()
    }

    /// Whether a unit has just run an rTask and given its signals.
    fn is_at_end_of_task(&self, unit: usize) -> bool {
        let (done, rest) = self.segment.streams[unit].split_at(self.positions[unit]);
        let ran = done.iter().rev().find(|instruction| !matches!(instruction, Instruction::Signal(_)));
        matches!(ran, Some(Instruction::Run(_))) && !matches!(rest.first(), Some(Instruction::Signal(_)))
    }
}
