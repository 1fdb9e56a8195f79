//! Plans written down by hand.

use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::schedule::simulation::simulate_with;
use warpweave_graph::arena::{Arena, Id};
use warpweave_plan::plan::{Counter, CounterId, OperatorId};
use warpweave_plan::plan::{Instruction, PersistentSegment, RTask};
use warpweave_plan::streams::polls::Polls;

/// Streams and counters under construction.
pub struct Sketch {
    pub segment: PersistentSegment,
}

impl Sketch {
    pub fn new(units: usize) -> Self {
        let streams = vec![Vec::new(); units];
        Self { segment: PersistentSegment { operators: Arena::new(), counters: Arena::new(), streams } }
    }

    pub fn counter(&mut self) -> CounterId {
        self.segment.counters.push(Counter { arrivals: 0 })
    }

    /// An rTask whose time is that of its kind.
    pub fn run(&mut self, unit: usize, kind: usize) {
        self.segment.streams[unit].push(Instruction::Run(RTask { operator: OperatorId::from_index(kind), tile: 0 }));
    }

    pub fn signal(&mut self, unit: usize, counter: CounterId) {
        self.segment.counters[counter].arrivals += 1;
        self.segment.streams[unit].push(Instruction::Signal(counter));
    }

    /// A wait for all signals that the counter has been given so far.
    pub fn wait(&mut self, unit: usize, counter: CounterId) {
        let signals = self.segment.counters[counter].arrivals;
        self.segment.streams[unit].push(Instruction::Wait { counter, signals });
    }

    /// All of these units meet.
    pub fn meet(&mut self, units: std::ops::Range<usize>) {
        let counter = self.counter();
        units.clone().for_each(|unit| self.signal(unit, counter));
        units.for_each(|unit| self.wait(unit, counter));
    }

    /// Microseconds, with a time a kind of rTask.
    pub fn microseconds(&self, kinds: &[f64]) -> f64 {
        self.polled(&Polls::default(), kinds)
    }

    /// The same by these costs.
    pub fn microseconds_with(&self, kinds: &[f64], costs: &SyncCosts) -> f64 {
        simulate_with(&self.segment, &Polls::default(), costs, &|task| kinds[task.operator.index()]).makespan
    }

    /// The same where rTasks poll what others write.
    pub fn polled(&self, polls: &Polls, kinds: &[f64]) -> f64 {
        simulate_with(&self.segment, polls, &SyncCosts::h200(), &|task| kinds[task.operator.index()]).makespan
    }
}
