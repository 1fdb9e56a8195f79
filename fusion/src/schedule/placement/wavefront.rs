//! The wavefront policy: one wave of rOperators after another, each dealt out to the units (Rammer).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::cost::sync::SyncCosts;
use crate::schedule::placement::{Placement, Step, Time, Work, duration, reach};
use warpweave_plan::plan::{OperatorId, RTask};

/// Places all rTasks on `units` units, which meet between waves.
pub fn place(work: &Work, units: usize, costs: &SyncCosts) -> Placement {
    let waves = work.waves();
    let mut order: Vec<OperatorId> = work.operators.ids().collect();
    order.sort_by_key(|&id| (waves[id], Reverse(duration(&work.operators[id])), id));
    let barrier = reach(units, costs);
    let mut placement = Placement::default();
    let mut free: BinaryHeap<Reverse<(Time, usize)>> = (0..units).map(|unit| Reverse((0, unit))).collect();
    let mut last = 0;
    let mut wave = 0;
    for id in order {
        if waves[id] != wave {
            wave = waves[id];
            placement.barriers.push(placement.steps.len());
            last += barrier;
            free = (0..units).map(|unit| Reverse((last, unit))).collect();
        }
        let operator = &work.operators[id];
        for tile in 0..operator.tasks() {
            let task = RTask { operator: id, tile };
            let Reverse((start, unit)) = match work.affinity.unit(task, units) {
                Some(home) => take(&mut free, home),
                None => free.pop().expect("a device has units"),
            };
            let end = start + duration(operator);
            free.push(Reverse((end, unit)));
            last = last.max(end);
            placement.steps.push(Step { task, unit, start, end });
        }
    }
    placement
}

/// Takes one unit out of those that become free.
fn take(free: &mut BinaryHeap<Reverse<(Time, usize)>>, unit: usize) -> Reverse<(Time, usize)> {
    let found = free.iter().find(|Reverse((_, other))| *other == unit).copied().expect("every unit is there");
    free.retain(|other| *other != found);
    found
}
