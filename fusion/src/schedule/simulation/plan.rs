//! What a plan takes on the cost model: its segments one after another, each when what the one before it has stored is
//! visible and it has been launched.

use warpweave_graph::arena::Id;

use crate::cost::sync::SyncCosts;
use crate::schedule::simulation::graph::simulate_graph;
use crate::schedule::simulation::{Event, Jitter, Simulation, simulate};
use warpweave_plan::plan::{CounterId, ExecutionPlan, Instruction, MemoryPlan, Segment};
use warpweave_plan::streams::polls::Polls;

/// Simulates a segment whose rTasks take the times that they are estimated to take; its launch is left out.
pub fn simulate_segment(segment: &Segment, memory: &MemoryPlan, costs: &SyncCosts, jitter: Jitter) -> Simulation {
    match segment {
        Segment::Persistent(segment) => simulate(segment, &Polls::of(segment, memory), costs, jitter),
        Segment::CudaGraph(segment) => simulate_graph(segment, costs, jitter),
    }
}

/// Simulates a plan whose rTasks take the times that they are estimated to take; its launch is left out. rOperators and
/// counters are numbered through the segments, and a unit's events are those of the segments in turn.
pub fn simulate_plan(plan: &ExecutionPlan, costs: &SyncCosts, jitter: Jitter) -> Simulation {
    let mut whole = Simulation { makespan: 0.0, units: vec![Vec::new(); plan.units()] };
    let mut first_counter = 0;
    for (segment, first_operator) in plan.segments.iter().zip(plan.first_operators()) {
        let own = simulate_segment(segment, &plan.memory, costs, jitter);
        let before = last(&whole);
        let start = before.map_or(0.0, |_| whole.makespan + costs.node_microseconds());
        let lengths: Vec<usize> = whole.units.iter().map(Vec::len).collect();
        for (events, found) in whole.units.iter_mut().zip(&own.units) {
            events.extend(found.iter().enumerate().map(|(position, event)| Event {
                instruction: numbered(event.instruction, first_operator, first_counter),
                start: event.start + start,
                end: event.end + start,
                released_by: match event.released_by {
                    Some((unit, position)) => Some((unit, position + lengths[unit])),
                    None => before.filter(|_| position == 0),
                },
                ..*event
            }));
        }
        whole.makespan = start + own.makespan;
        first_counter += segment.arrivals().len();
    }
    whole
}

/// Where the event stands that ends last.
fn last(run: &Simulation) -> Option<(usize, usize)> {
    let ends = run.units.iter().enumerate().filter_map(|(unit, events)| {
        let position = events.len().checked_sub(1)?;
        Some((events[position].end, (unit, position)))
    });
    ends.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, at)| at)
}

fn numbered(instruction: Instruction, first_operator: usize, first_counter: usize) -> Instruction {
    let counter = |counter: CounterId| CounterId::from_index(first_counter + counter.index());
    match instruction {
        Instruction::Run(task) => Instruction::Run(task.numbered_from(first_operator)),
        Instruction::Hold(task) => Instruction::Hold(task.numbered_from(first_operator)),
        Instruction::Prefetch(task) => Instruction::Prefetch(task.numbered_from(first_operator)),
        Instruction::Wait { counter: own, signals } => Instruction::Wait { counter: counter(own), signals },
        Instruction::Signal(own) => Instruction::Signal(counter(own)),
    }
}
