//! Where and when rTasks run: what is placed, and what a placement is. One file a policy, which [`policies`] chooses.

pub mod affinity;
pub mod insertion;
pub mod justify;
pub mod policies;
pub mod profile;
pub mod program_order;
pub mod timeline;
pub mod wavefront;

use warpweave_graph::arena::Arena;

use crate::cost::sync::SyncCosts;
use crate::schedule::dependence::bands::{BandId, Bands};
use crate::schedule::dependence::edges::Edge;
use crate::schedule::placement::affinity::Affinity;
use warpweave_plan::plan::{EdgeKind, OperatorId, ROperator, RTask};
use warpweave_plan::region::grid::Span;

/// Estimated time in nanoseconds.
pub type Time = u64;

/// An rTask on its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub task: RTask,
    pub unit: usize,
    /// Estimated start.
    pub start: Time,
    /// Estimated end.
    pub end: Time,
}

/// Where and in which order all rTasks run.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// All rTasks; what one waits for stands before it.
    pub steps: Vec<Step>,
    /// Where all units meet: numbers of steps, ascending.
    pub barriers: Vec<usize>,
}

impl Placement {
    /// When the last rTask ends.
    pub fn end(&self) -> Time {
        self.steps.iter().map(|step| step.end).max().unwrap_or(0)
    }

    /// Per rOperator, how long after its first rTask the last one ends.
    pub fn spread(&self, operators: usize) -> Arena<OperatorId, Time> {
        let mut ends: Arena<OperatorId, (Time, Time)> = (0..operators).map(|_| (Time::MAX, 0)).collect();
        for step in &self.steps {
            let (first, last) = &mut ends[step.task.operator];
            (*first, *last) = ((*first).min(step.end), (*last).max(step.end));
        }
        ends.values().map(|(first, last)| last.saturating_sub(*first)).collect()
    }
}

/// What has to be placed.
pub struct Work<'a> {
    /// The rOperators, in a topological order.
    pub operators: &'a Arena<OperatorId, ROperator>,
    /// What they read of one another.
    pub edges: &'a Arena<OperatorId, Vec<Edge>>,
    pub bands: &'a Bands,
    /// The units of rTasks that have to be on one.
    pub affinity: &'a Affinity,
}

impl Work<'_> {
    /// The bands that an rTask comes after by edges of a kind, each once.
    pub fn needs(&self, task: RTask, kind: EdgeKind, found: &mut Vec<BandId>) {
        found.clear();
        for edge in self.edges[task.operator].iter().filter(|edge| edge.kind == kind) {
            if let Some(tiles) = edge.tiles(task.tile) {
                self.bands.holding(edge.producer, tiles, found);
            }
        }
    }

    /// The same of what an rTask does not read of one rTask alone that `is_before` it in any case.
    pub fn needs_beside(
        &self,
        task: RTask,
        kind: EdgeKind,
        is_before: impl Fn(RTask) -> bool,
        found: &mut Vec<BandId>,
    ) {
        found.clear();
        for edge in self.edges[task.operator].iter().filter(|edge| edge.kind == kind) {
            let Some(tiles) = edge.tiles(task.tile) else { continue };
            let alone = self.only_tile(edge.producer, tiles).map(|tile| RTask { operator: edge.producer, tile });
            if !alone.is_some_and(&is_before) {
                self.bands.holding(edge.producer, tiles, found);
            }
        }
    }

    /// The number of the tile that a box holds, if it is only one.
    fn only_tile(&self, operator: OperatorId, tiles: &[Span]) -> Option<u32> {
        let grid = self.bands.grid(operator);
        let is_one = tiles.len() == grid.len() && tiles.iter().all(|span| span.first == span.last);
        is_one.then(|| tiles.iter().zip(grid).fold(0, |number, (span, &count)| number * count + span.first))
    }

    /// Per rOperator, its wave: the longest chain of rOperators before it.
    pub(crate) fn waves(&self) -> Arena<OperatorId, usize> {
        let mut waves: Arena<OperatorId, usize> = Arena::new();
        for edges in self.edges.values() {
            waves.push(edges.iter().map(|edge| waves[edge.producer] + 1).max().unwrap_or(0));
        }
        waves
    }

    /// Per rOperator, the estimated time from its start to the end of everything that depends on it.
    pub(crate) fn urgency(&self, units: usize, costs: &SyncCosts) -> Arena<OperatorId, Time> {
        let after = |kind| match kind {
            EdgeKind::Counter => reach(2, costs),
            EdgeKind::Tagged => nanoseconds(costs.tagged_value.value),
        };
        let mut urgency: Arena<OperatorId, Time> = self.operators.values().map(|_| 0).collect();
        for id in self.operators.ids().rev() {
            let operator = &self.operators[id];
            let rounds = u64::from(operator.tasks()).div_ceil(units as u64);
            let own = urgency[id] + rounds * duration(operator);
            urgency[id] = own;
            for edge in &self.edges[id] {
                let producer = &mut urgency[edge.producer];
                *producer = (*producer).max(own + after(edge.kind));
            }
        }
        urgency
    }

    /// The longest estimated path through the rOperators, all units at the service of each.
    pub fn path(&self, units: usize, costs: &SyncCosts) -> Time {
        self.urgency(units, costs).values().copied().max().unwrap_or(0)
    }
}

/// What an rTask of an rOperator takes.
pub(crate) fn duration(operator: &ROperator) -> Time {
    nanoseconds(operator.task_microseconds).max(1)
}

/// From the end of what some units wait for to the start of what waits, signals included.
pub(crate) fn reach(parties: usize, costs: &SyncCosts) -> Time {
    nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(parties))
}

/// An estimate as a time.
pub fn nanoseconds(microseconds: f64) -> Time {
    (microseconds * 1000.0) as Time
}
