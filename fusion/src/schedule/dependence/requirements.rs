//! What every rTask comes after, and how long after.

use warpweave_graph::arena::Arena;

use crate::cost::sync::SyncCosts;
use crate::schedule::dependence::bands::BandId;
use crate::schedule::placement::{Time, Work, duration, nanoseconds, reach};
use warpweave_plan::plan::{EdgeKind, OperatorId, RTask};

/// A band that an rTask comes after, and how it learns of it.
pub type Need = (BandId, EdgeKind);

/// What all rTasks come after, for placing them on `units` units.
pub struct Requirements<'a> {
    /// What is placed.
    pub work: &'a Work<'a>,
    /// The number of units.
    pub units: usize,
    /// What a signal costs the unit that gives it.
    signal: Time,
    /// Per band, from the end of its last tile to the start of what waits for it on another unit.
    counters: Arena<BandId, Time>,
    /// From the end of an rTask to the start of another that polls what it made.
    tagged_value: Time,
    /// The needs of all rTasks, and per rOperator and rTask where its own begin.
    needs: Vec<Need>,
    starts: Arena<OperatorId, Vec<usize>>,
}

impl<'a> Requirements<'a> {
    /// Of all rTasks.
    pub fn new(work: &'a Work<'a>, units: usize, costs: &SyncCosts) -> Self {
        let mut parties: Arena<BandId, (u32, u32)> = (0..work.bands.len()).map(|_| (0, 0)).collect();
        let (mut needs, mut own) = (Vec::new(), Vec::new());
        let mut starts: Arena<OperatorId, Vec<usize>> = Arena::new();
        for (operator, definition) in work.operators.iter() {
            let mut of_tiles = Vec::with_capacity(definition.tasks() as usize + 1);
            for tile in 0..definition.tasks() {
                work.bands.of(operator, tile).for_each(|band| parties[band].0 += 1);
                of_tiles.push(needs.len());
                for kind in EdgeKind::ALL {
                    work.needs(RTask { operator, tile }, kind, &mut own);
                    own.iter().for_each(|&band| parties[band].1 += 1);
                    needs.extend(own.drain(..).map(|band| (band, kind)));
                }
            }
            of_tiles.push(needs.len());
            starts.push(of_tiles);
        }
        // Neither more units than tiles can signal, nor more than there are readers wait.
        let reach = |&(tiles, readers): &(u32, u32)| reach(units.min(tiles.max(readers) as usize), costs);
        Self {
            work,
            units,
            signal: nanoseconds(costs.signal_microseconds()),
            counters: parties.values().map(reach).collect(),
            tagged_value: nanoseconds(costs.tagged_value.value),
            needs,
            starts,
        }
    }

    /// What an rTask comes after, each once a kind.
    pub fn of(&self, task: RTask) -> &[Need] {
        let starts = &self.starts[task.operator];
        &self.needs[starts[task.tile as usize]..starts[task.tile as usize + 1]]
    }

    /// From the end of what is needed to the start, on another unit, of what needs it.
    pub fn reach(&self, (band, kind): Need) -> Time {
        match kind {
            EdgeKind::Counter => self.counters[band],
            EdgeKind::Tagged => self.tagged_value,
        }
    }

    /// What an rTask of an rOperator takes, and the signal that follows it; with several rTasks a unit it follows the last.
    pub fn takes(&self, operator: OperatorId) -> (Time, Time) {
        let operator = &self.work.operators[operator];
        let signals = operator.tasks() as usize <= self.units;
        (duration(operator), if signals { self.signal } else { 0 })
    }
}
