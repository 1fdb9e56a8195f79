//! The wavefront policy: every rTask to the unit that can start it first (Rammer), as soon as the bands that it reads are
//! complete.
//!
//! The most urgent rOperators choose first; the others fill the gaps that these leave, so nothing delays what is more urgent.
//! rTasks then stand in the order of their estimated starts. That order respects every wait, so streams that follow it
//! cannot deadlock, and rOperators of different waves overlap wherever their tiles allow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use warpweave_graph::arena::Arena;

use super::bands::{BandId, Bands, SyncPolicy};
use super::costs::SyncCosts;
use super::edges::Edge;
use super::keep::Homes;
use super::plan::{EdgeKind, OperatorId, ROperator, RTask};
use super::timeline::{Soonest, Timeline};

/// Estimated time in nanoseconds.
pub type Time = u64;

/// An rTask on its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The rTask.
    pub task: RTask,
    /// The unit.
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
    /// Their bands.
    pub bands: &'a Bands,
    /// The units of rTasks that have to be on one.
    pub homes: &'a Homes,
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

    /// Per rOperator, its wave: the longest chain of rOperators before it.
    fn waves(&self) -> Arena<OperatorId, usize> {
        let mut waves: Arena<OperatorId, usize> = Arena::new();
        for edges in self.edges.values() {
            waves.push(edges.iter().map(|edge| waves[edge.producer] + 1).max().unwrap_or(0));
        }
        waves
    }

    /// Per rOperator, the estimated time from its start to the end of everything that depends on it.
    fn urgency(&self, units: usize, reach: impl Fn(EdgeKind) -> Time) -> Arena<OperatorId, Time> {
        let mut urgency: Arena<OperatorId, Time> = self.operators.values().map(|_| 0).collect();
        for id in self.operators.ids().rev() {
            let operator = &self.operators[id];
            let rounds = u64::from(operator.tasks()).div_ceil(units as u64);
            let own = urgency[id] + rounds * duration(operator);
            urgency[id] = own;
            for edge in &self.edges[id] {
                let producer = &mut urgency[edge.producer];
                *producer = (*producer).max(own + reach(edge.kind));
            }
        }
        urgency
    }
}

/// Places all rTasks on `units` units.
pub fn place(work: &Work, units: usize, policy: SyncPolicy, costs: &SyncCosts) -> Placement {
    match policy {
        SyncPolicy::Barrier => place_waves(work, units, costs),
        SyncPolicy::Operator | SyncPolicy::Tile => place_ready(work, units, costs),
    }
}

fn duration(operator: &ROperator) -> Time {
    nanoseconds(operator.task_microseconds).max(1)
}

/// An estimate as a time.
pub fn nanoseconds(microseconds: f64) -> Time {
    (microseconds * 1000.0) as Time
}

fn place_waves(work: &Work, units: usize, costs: &SyncCosts) -> Placement {
    let waves = work.waves();
    let mut order: Vec<OperatorId> = work.operators.ids().collect();
    order.sort_by_key(|&id| (waves[id], Reverse(duration(&work.operators[id])), id));
    let barrier = nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(units));
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
            let Reverse((start, unit)) = match work.homes.unit(task, units) {
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

/// What is known of a band while rTasks are placed.
#[derive(Clone, Copy)]
struct BandState {
    /// From the end of its last tile to the start of what waits for it on another unit.
    reach: Time,
    /// When the last of its tiles ends.
    end: Time,
    /// The only unit that has tiles of it, if there is one.
    home: Home,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Nowhere,
    At(usize),
    Spread,
}

/// When an rTask may start.
#[derive(Clone, Copy)]
struct Release {
    tile: u32,
    /// On any unit.
    from: Time,
    /// On the unit that made the last of what it reads, if one unit made it all.
    near: Option<(usize, Time)>,
}

struct Placer<'a> {
    work: &'a Work<'a>,
    timeline: Timeline,
    /// What a signal costs the unit that gives it.
    signal: Time,
    bands: Arena<BandId, BandState>,
    /// From the end of an rTask to the start of another that polls what it made.
    sentinel: Time,
    /// The bands that all rTasks come after, and per rOperator and rTask where its own begin.
    needs: Vec<(BandId, EdgeKind)>,
    starts: Arena<OperatorId, Vec<usize>>,
}

fn place_ready(work: &Work, units: usize, costs: &SyncCosts) -> Placement {
    let reach = |kind: EdgeKind| match kind {
        EdgeKind::Counter => nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(2)),
        EdgeKind::Sentinel => nanoseconds(costs.sentinel.value),
    };
    let urgency = work.urgency(units, reach);
    let mut order: Vec<OperatorId> = work.operators.ids().collect();
    // Whoever reads of another is less urgent.
    order.sort_by_key(|&id| (Reverse(urgency[id]), id));
    let mut placer = Placer::new(work, units, costs);
    let mut steps: Vec<Step> = order.into_iter().flat_map(|id| placer.place(id)).collect();
    steps.sort_by_key(|step| step.start);
    Placement { steps, barriers: Vec::new() }
}

impl<'a> Placer<'a> {
    fn new(work: &'a Work<'a>, units: usize, costs: &SyncCosts) -> Self {
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
        let reach = |&(tiles, readers): &(u32, u32)| {
            let parties = units.min(tiles.max(readers) as usize);
            nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(parties))
        };
        let band = |parties| BandState { reach: reach(parties), end: 0, home: Home::Nowhere };
        let signal = nanoseconds(costs.signal_microseconds());
        let bands = parties.values().map(band).collect();
        let sentinel = nanoseconds(costs.sentinel.value);
        Self { work, timeline: Timeline::new(units), signal, bands, sentinel, needs, starts }
    }

    /// Places all rTasks of an rOperator, those first that may start first.
    fn place(&mut self, id: OperatorId) -> Vec<Step> {
        let operator = &self.work.operators[id];
        let mut releases: Vec<Release> = (0..operator.tasks()).map(|tile| self.release(id, tile)).collect();
        releases.sort_by_key(|release| release.from);
        let own = duration(operator);
        // With several rTasks a unit it signals after the last.
        let signals = operator.tasks() as usize <= self.timeline.units();
        let length = if signals { own + self.signal } else { own };
        let first = releases.first().map_or(0, |release| release.from);
        let mut soonest = Soonest::new(&self.timeline, first, length);
        let mut steps = Vec::with_capacity(releases.len());
        for release in releases {
            let task = RTask { operator: id, tile: release.tile };
            let (start, unit) = self.choose(task, release, length, &mut soonest);
            self.timeline.occupy(unit, start, length);
            self.complete(task, unit, start + own);
            steps.push(Step { task, unit, start, end: start + own });
        }
        steps
    }

    /// When the bands that an rTask waits for are complete.
    fn release(&self, operator: OperatorId, tile: u32) -> Release {
        let starts = &self.starts[operator];
        let needs = &self.needs[starts[tile as usize]..starts[tile as usize + 1]];
        let far = |&(band, kind): &(BandId, EdgeKind)| {
            let state = self.bands[band];
            state.end
                + match kind {
                    EdgeKind::Counter => state.reach,
                    EdgeKind::Sentinel => self.sentinel,
                }
        };
        let last = needs.iter().max_by_key(|need| far(need));
        let Some(last) = last else { return Release { tile, from: 0, near: None } };
        let home = self.bands[last.0].home;
        let near = match home {
            Home::At(unit) => {
                let reaches = |need: &(BandId, EdgeKind)| {
                    let state = self.bands[need.0];
                    if state.home == home { state.end } else { far(need) }
                };
                Some((unit, needs.iter().map(reaches).max().unwrap_or(0)))
            }
            Home::Nowhere | Home::Spread => None,
        };
        Release { tile, from: far(last), near }
    }

    /// The unit that can start an rTask first, and when.
    fn choose(&self, task: RTask, release: Release, length: Time, soonest: &mut Soonest) -> (Time, usize) {
        let Release { from, near, .. } = release;
        if let Some(home) = self.work.homes.unit(task, self.timeline.units()) {
            let from = near.filter(|(unit, _)| *unit == home).map_or(from, |(_, near)| near);
            return (self.timeline.earliest(home, from, length), home);
        }
        let any = soonest.find(&self.timeline, from);
        let near = near.map(|(unit, near)| (self.timeline.earliest(unit, near, length), unit));
        near.filter(|(start, _)| *start <= any.0).unwrap_or(any)
    }

    /// Notes that an rTask has been placed.
    fn complete(&mut self, task: RTask, unit: usize, end: Time) {
        for band in self.work.bands.of(task.operator, task.tile) {
            let state = &mut self.bands[band];
            state.end = state.end.max(end);
            state.home = match state.home {
                Home::Nowhere => Home::At(unit),
                Home::At(home) if home == unit => Home::At(unit),
                Home::At(_) | Home::Spread => Home::Spread,
            };
        }
    }
}
