//! The wavefront policy: rOperators wave by wave, each rTask to the unit that can start it first (Rammer).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use warpweave_graph::arena::Arena;

use super::plan::{Counter, CounterId, Instruction, OperatorId, PersistentSegment, ROperator, RTask};
use super::reach::OperatorSet;

/// Microseconds between the end of a producer and the start of a consumer on another unit.
const SIGNAL_MICROSECONDS: f64 = 0.6;

/// A segment of `units` virtual execution units that runs all rTasks of `operators`.
///
/// Every dependency is one counter an rOperator: each unit that runs rTasks of it signals once, after its last one, and
/// a reader's unit waits for all signals unless what it has already waited for implies them.
pub fn schedule(
    operators: Arena<OperatorId, ROperator>,
    producers: &Arena<OperatorId, BTreeSet<OperatorId>>,
    ancestors: &Arena<OperatorId, OperatorSet>,
    units: usize,
) -> PersistentSegment {
    let placement = place(&operators, producers, units);
    let streams = synchronise(&placement, producers, ancestors, units);
    let (streams, counters) = number_counters(streams);
    PersistentSegment { operators, counters, streams }
}

/// One operator's rTasks by unit, operators in the order in which they are placed.
type Placement = Vec<(OperatorId, BTreeMap<usize, Vec<u32>>)>;

fn place(
    operators: &Arena<OperatorId, ROperator>,
    producers: &Arena<OperatorId, BTreeSet<OperatorId>>,
    units: usize,
) -> Placement {
    let mut wave: Arena<OperatorId, usize> = Arena::new();
    for own in producers.values() {
        wave.push(own.iter().map(|&producer| wave[producer] + 1).max().unwrap_or(0));
    }
    let mut order: Vec<OperatorId> = operators.ids().collect();
    order.sort_by_key(|&id| (wave[id], id));
    let mut finish: Arena<OperatorId, u64> = operators.values().map(|_| 0).collect();
    let mut free: BinaryHeap<Reverse<(u64, usize)>> = (0..units).map(|unit| Reverse((0, unit))).collect();
    let mut placement = Placement::new();
    for id in order {
        let operator = &operators[id];
        let duration = nanoseconds(operator.task_microseconds).max(1);
        let ready = producers[id].iter().map(|&producer| finish[producer]).max().unwrap_or(0);
        let ready = if producers[id].is_empty() { 0 } else { ready + nanoseconds(SIGNAL_MICROSECONDS) };
        let mut by_unit: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for tile in 0..operator.tasks() {
            let Reverse((at, unit)) = free.pop().expect("a device has units");
            let end = at.max(ready) + duration;
            free.push(Reverse((end, unit)));
            by_unit.entry(unit).or_default().push(tile);
            finish[id] = finish[id].max(end);
        }
        placement.push((id, by_unit));
    }
    placement
}

fn nanoseconds(microseconds: f64) -> u64 {
    (microseconds * 1000.0) as u64
}

/// A step whose counter is still named by the operator that it belongs to.
#[derive(Clone, Copy)]
enum Step {
    Run(RTask),
    Wait(OperatorId),
    Signal(OperatorId),
}

fn synchronise(
    placement: &Placement,
    producers: &Arena<OperatorId, BTreeSet<OperatorId>>,
    ancestors: &Arena<OperatorId, OperatorSet>,
    units: usize,
) -> Vec<Vec<Step>> {
    let only_unit = |by_unit: &BTreeMap<usize, Vec<u32>>| match by_unit.len() {
        1 => by_unit.keys().next().copied(),
        _ => None,
    };
    let home: BTreeMap<OperatorId, Option<usize>> =
        placement.iter().map(|(id, by_unit)| (*id, only_unit(by_unit))).collect();
    let mut known = vec![OperatorSet::new(producers.len()); units];
    let mut streams: Vec<Vec<Step>> = vec![Vec::new(); units];
    for (id, by_unit) in placement {
        for (&unit, tiles) in by_unit {
            // Latest producers first: waiting for one often implies the earlier ones.
            for &producer in producers[*id].iter().rev() {
                if known[unit].contains(producer) {
                    continue;
                }
                if home[&producer] != Some(unit) {
                    streams[unit].push(Step::Wait(producer));
                }
                known[unit].insert(producer);
                let implied = &ancestors[producer];
                known[unit].extend(implied);
            }
            streams[unit].extend(tiles.iter().map(|&tile| Step::Run(RTask { operator: *id, tile })));
            streams[unit].push(Step::Signal(*id));
        }
    }
    streams
}

/// Numbers the counters that are waited for, and drops the signals of the others.
fn number_counters(streams: Vec<Vec<Step>>) -> (Vec<Vec<Instruction>>, Arena<CounterId, Counter>) {
    let waited: BTreeSet<OperatorId> = streams
        .iter()
        .flatten()
        .filter_map(|step| match step {
            Step::Wait(operator) => Some(*operator),
            Step::Run(_) | Step::Signal(_) => None,
        })
        .collect();
    let mut counters: Arena<CounterId, Counter> = Arena::new();
    let number: BTreeMap<OperatorId, CounterId> =
        waited.iter().map(|&operator| (operator, counters.push(Counter { arrivals: 0 }))).collect();
    for step in streams.iter().flatten() {
        if let Step::Signal(operator) = step
            && let Some(&counter) = number.get(operator)
        {
            counters[counter].arrivals += 1;
        }
    }
    let instruction = |step: Step| match step {
        Step::Run(task) => Some(Instruction::Run(task)),
        Step::Wait(operator) => {
            let counter = number[&operator];
            Some(Instruction::Wait { counter, signals: counters[counter].arrivals })
        }
        Step::Signal(operator) => number.get(&operator).copied().map(Instruction::Signal),
    };
    let streams = streams.into_iter().map(|stream| stream.into_iter().filter_map(instruction).collect()).collect();
    (streams, counters)
}
