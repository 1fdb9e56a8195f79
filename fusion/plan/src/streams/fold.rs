//! Folds a plan onto fewer virtual execution units.
//!
//! An rTask that polls stands in the global order after all rTasks whose tagged values it polls, so in a merged stream no
//! rTask polls what a later one of the same stream writes. By induction over the global order every stream gets to its
//! end: the first rTask that has not ended waits only for what stands before it, which has ended.

use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;

use crate::plan::{CounterId, ExecutionPlan, Instruction, MemoryPlan, PersistentSegment, RTask, Segment};
use crate::streams::polls::Polls;
use crate::streams::prefetch::{with_prefetches, without_prefetches};
use crate::streams::residency::with_holds;

/// The plan on at most `units` units: streams are merged in the order in which one execution runs them, so every merged
/// stream agrees with one global rank and no new deadlock can arise. Must be verified again.
///
/// A plan whose streams do not end, or that has no more than `units` units, comes back as it is; so does a graph, whose
/// blocks run on whatever units there are.
pub fn fold(plan: &ExecutionPlan, units: usize) -> ExecutionPlan {
    let segments = plan.segments.iter().map(|segment| match segment {
        Segment::Persistent(segment) => {
            let polls = Polls::of(segment, &plan.memory);
            Segment::Persistent(fold_segment(segment, &plan.memory, &polls, units.max(1)))
        }
        Segment::CudaGraph(segment) => Segment::CudaGraph(segment.clone()),
    });
    ExecutionPlan { segments: segments.collect(), memory: plan.memory.clone() }
}

fn fold_segment(segment: &PersistentSegment, memory: &MemoryPlan, polls: &Polls, units: usize) -> PersistentSegment {
    if segment.units() <= units {
        return segment.clone();
    }
    let Some(order) = global_order(segment, polls) else { return segment.clone() };
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
///
/// Units take turns an instruction at a time, so that work which can run side by side stays interleaved.
fn global_order(segment: &PersistentSegment, polls: &Polls) -> Option<Vec<(usize, usize)>> {
    let mut signalled: Arena<CounterId, u32> = segment.counters.values().map(|_| 0).collect();
    let mut positions = vec![0; segment.units()];
    let total: usize = segment.streams.iter().map(Vec::len).sum();
    let mut order = Vec::with_capacity(total);
    let mut ran: BTreeSet<RTask> = BTreeSet::new();
    while order.len() < total {
        let before = order.len();
        for (unit, position) in positions.iter_mut().enumerate() {
            let Some(instruction) = segment.streams[unit].get(*position) else { continue };
            match *instruction {
                Instruction::Wait { counter, signals } if signalled[counter] < signals => continue,
                Instruction::Signal(counter) => signalled[counter] += 1,
                Instruction::Run(task) => {
                    if !polls.writers(task).iter().all(|writer| ran.contains(writer)) {
                        continue;
                    }
                    if polls.is_polled(task) {
                        ran.insert(task);
                    }
                }
                Instruction::Wait { .. } | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
            }
            order.push((unit, *position));
            *position += 1;
        }
        if order.len() == before {
            return None;
        }
    }
    Some(order)
}
