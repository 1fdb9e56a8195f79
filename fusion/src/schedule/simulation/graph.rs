//! What a graph takes on the cost model. The blocks of a node run on the multiprocessors in turn. A node begins when
//! all blocks of the one before it have ended, what they stored is visible, and the node is launched.

use crate::cost::sync::SyncCosts;
use crate::schedule::simulation::{Event, Jitter, Simulation, first_numbers};
use warpweave_plan::plan::{GraphSegment, Instruction, RTask};

/// Simulates a graph whose rTasks take the times that they are estimated to take; its launch is left out.
pub fn simulate_graph(segment: &GraphSegment, costs: &SyncCosts, jitter: Jitter) -> Simulation {
    let first = first_numbers(&segment.operators);
    let mut units: Vec<Vec<Event>> = vec![Vec::new(); segment.units.max(1)];
    let mut previous: Option<Latest> = None;
    for node in &segment.nodes {
        let begin = previous.map_or(0.0, |latest| latest.end + costs.node_microseconds());
        let time = segment.operators[node.operator].task_microseconds;
        let mut last: Option<Latest> = None;
        let count = units.len();
        for tile in 0..node.blocks {
            let unit = tile as usize % count;
            let events = &mut units[unit];
            let is_first = (tile as usize) < count;
            let start = if is_first { begin } else { events.last().map_or(begin, |event| event.end) };
            let end = start + time * jitter.factor(first[node.operator] + u64::from(tile));
            let released_by = previous.filter(|_| is_first).map(|latest| latest.at);
            let instruction = Instruction::Run(RTask { operator: node.operator, tile });
            last = last.filter(|latest| latest.end >= end).or(Some(Latest { end, at: (unit, events.len()) }));
            events.push(Event { instruction, start, polled: 0.0, end, released_by });
        }
        previous = last.or(previous);
    }
    Simulation { makespan: previous.map_or(0.0, |latest| latest.end), units }
}

/// The block of a node that ends last: when, and where it stands.
#[derive(Clone, Copy)]
struct Latest {
    end: f64,
    at: (usize, usize),
}
