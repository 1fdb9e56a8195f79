//! The wavefront policy: every rTask to the unit that can start it first (Rammer), as soon as the bands that it reads are
//! complete.
//!
//! rTasks are placed in the order of their estimated starts. That order respects every wait, so streams that follow it
//! cannot deadlock, and rOperators of different waves overlap wherever their tiles allow.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use warpweave_graph::arena::{Arena, Id};

use super::bands::{BandId, Bands, SyncPolicy};
use super::costs::SyncCosts;
use super::edges::Edge;
use super::keep::Homes;
use super::plan::{EdgeKind, OperatorId, ROperator, RTask};

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
    /// Tiles that have not been placed.
    missing: u32,
    /// From the end of its last tile to the start of what waits for it on another unit.
    reach: Time,
    /// When the last of the others ends.
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

/// An rTask whose bands are complete, soonest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    /// When it may start on the unit that it prefers, or else on any.
    from: Time,
    task: u32,
}

/// An rTask that may start now, most urgent last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    urgency: Time,
    task: Reverse<u32>,
}

struct Placer<'a> {
    work: &'a Work<'a>,
    tasks: Vec<RTask>,
    /// What a signal costs the unit that gives it.
    signal: Time,
    urgency: Arena<OperatorId, Time>,
    bands: Arena<BandId, BandState>,
    /// From the end of an rTask to the start of another that polls what it made.
    sentinel: Time,
    /// Per band, the rTasks that wait for it: `waiting[starts[band]..starts[band + 1]]`.
    waiting: Vec<(u32, EdgeKind)>,
    starts: Vec<u32>,
    /// Per rTask, how many of its bands are incomplete.
    missing: Vec<u32>,
    /// Per rTask, when it may start on any unit; and on the unit that it prefers.
    from: Vec<Time>,
    near: Vec<Time>,
    prefers: Vec<u32>,
    free_at: Vec<Time>,
    free: BTreeSet<(Time, usize)>,
    pending: BinaryHeap<Reverse<Pending>>,
    ready: BinaryHeap<Ready>,
    /// Per rOperator, how many of its rTasks are ready.
    ready_of: Arena<OperatorId, usize>,
    burst: Option<Burst>,
}

/// rTasks of one rOperator that go to one unit one after another, so that the unit signals once for all of them.
#[derive(Clone, Copy)]
struct Burst {
    operator: OperatorId,
    unit: usize,
    left: usize,
}

const NO_UNIT: u32 = u32::MAX;
/// Bursts are of rTasks that take no longer than this many signals.
const BURST_SIGNALS: Time = 8;

fn place_ready(work: &Work, units: usize, costs: &SyncCosts) -> Placement {
    let mut placer = Placer::new(work, units, costs);
    let mut placement = Placement { steps: Vec::with_capacity(placer.tasks.len()), barriers: Vec::new() };
    while let Some(step) = placer.next() {
        placement.steps.push(step);
    }
    placement
}

impl<'a> Placer<'a> {
    fn new(work: &'a Work<'a>, units: usize, costs: &SyncCosts) -> Self {
        let exchange = nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(2));
        let mut tasks = Vec::new();
        for (operator, definition) in work.operators.iter() {
            tasks.extend((0..definition.tasks()).map(|tile| RTask { operator, tile }));
        }
        let empty = BandState { missing: 0, reach: 0, end: 0, home: Home::Nowhere };
        let mut bands: Arena<BandId, BandState> = (0..work.bands.len()).map(|_| empty).collect();
        let mut starts = vec![0u32; work.bands.len() + 1];
        let mut missing = vec![0; tasks.len()];
        let mut needs = Vec::new();
        for (number, &task) in tasks.iter().enumerate() {
            work.bands.of(task.operator, task.tile).for_each(|band| bands[band].missing += 1);
            for kind in EdgeKind::ALL {
                work.needs(task, kind, &mut needs);
                missing[number] += needs.len() as u32;
                needs.iter().for_each(|band| starts[band.index() + 1] += 1);
            }
        }
        for (band, state) in bands.values_mut().enumerate() {
            // Neither more units than tiles can signal, nor more than there are readers wait.
            let parties = units.min(state.missing.max(starts[band + 1]) as usize);
            state.reach = nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(parties));
            starts[band + 1] += starts[band];
        }
        let mut waiting = vec![(0, EdgeKind::Counter); starts[work.bands.len()] as usize];
        let mut next = starts.clone();
        for (number, &task) in tasks.iter().enumerate() {
            for kind in EdgeKind::ALL {
                work.needs(task, kind, &mut needs);
                for band in &needs {
                    let place = &mut next[band.index()];
                    waiting[*place as usize] = (number as u32, kind);
                    *place += 1;
                }
            }
        }
        let ready = missing.iter().enumerate().filter(|(_, missing)| **missing == 0);
        let pending = ready.map(|(task, _)| Reverse(Pending { from: 0, task: task as u32 })).collect();
        let sentinel = nanoseconds(costs.sentinel.value);
        let reach = |kind: EdgeKind| match kind {
            EdgeKind::Counter => exchange,
            EdgeKind::Sentinel => sentinel,
        };
        Self {
            work,
            signal: nanoseconds(costs.signal_microseconds()),
            urgency: work.urgency(units, reach),
            bands,
            sentinel,
            waiting,
            starts,
            from: vec![0; tasks.len()],
            near: vec![0; tasks.len()],
            prefers: vec![NO_UNIT; tasks.len()],
            missing,
            tasks,
            free_at: vec![0; units],
            free: (0..units).map(|unit| (0, unit)).collect(),
            pending,
            ready: BinaryHeap::new(),
            ready_of: work.operators.values().map(|_| 0).collect(),
            burst: None,
        }
    }

    fn next(&mut self) -> Option<Step> {
        let &(mut now, first) = self.free.first().expect("a device has units");
        self.release(now);
        if self.ready.is_empty() {
            let Reverse(soonest) = self.pending.peek()?;
            now = soonest.from;
            self.release(now);
        }
        let Ready { task: Reverse(number), .. } = self.ready.pop().expect("something is ready now");
        let at = number as usize;
        let task = self.tasks[at];
        let preferred = self.prefers[at] as usize;
        let is_near = preferred < self.free_at.len() && self.free_at[preferred] <= now.max(self.from[at]);
        let home = self.work.homes.unit(task, self.free_at.len());
        let (unit, from) = match home {
            Some(home) => (home, if home == preferred { self.near[at] } else { self.from[at] }),
            None if is_near => (preferred, self.near[at]),
            None => (self.burst_unit(task.operator, first), self.from[at]),
        };
        self.ready_of[task.operator] -= 1;
        let start = self.free_at[unit].max(from);
        let operator = &self.work.operators[task.operator];
        let end = start + duration(operator);
        let goes_on = self.burst.is_some_and(|burst| burst.unit == unit && burst.left > 0);
        let signals = !goes_on && operator.tasks() as usize <= self.free_at.len();
        self.free.remove(&(self.free_at[unit], unit));
        self.free_at[unit] = if signals { end + self.signal } else { end };
        self.free.insert((self.free_at[unit], unit));
        self.complete(task, unit, end);
        Some(Step { task, unit, start, end })
    }

    /// The unit for an rTask that prefers none: that of the burst, or the first that is free, where a burst may begin.
    ///
    /// Where short rTasks of several rOperators are ready, several for every unit, a unit takes its part from one
    /// rOperator and signals once; with longer ones that would only delay the more urgent rOperator.
    fn burst_unit(&mut self, operator: OperatorId, first: usize) -> usize {
        if let Some(burst) = &mut self.burst
            && burst.operator == operator
            && burst.left > 0
        {
            burst.left -= 1;
            return burst.unit;
        }
        // The rTask itself is no longer in the queue.
        let ready = self.ready.len() + 1;
        let part = ready / self.free_at.len();
        let short = duration(&self.work.operators[operator]) <= BURST_SIGNALS * self.signal;
        let several = self.ready_of[operator] < ready && part > 1 && short;
        self.burst = several.then(|| Burst { operator, unit: first, left: part - 1 });
        first
    }

    /// Makes ready what may start by `now`.
    fn release(&mut self, now: Time) {
        while let Some(&Reverse(Pending { from, task })) = self.pending.peek() {
            if from > now {
                return;
            }
            self.pending.pop();
            let operator = self.tasks[task as usize].operator;
            self.ready_of[operator] += 1;
            let urgency = self.urgency[operator];
            self.ready.push(Ready { urgency, task: Reverse(task) });
        }
    }

    /// Notes that an rTask has been placed.
    fn complete(&mut self, task: RTask, unit: usize, end: Time) {
        let work = self.work;
        for band in work.bands.of(task.operator, task.tile) {
            let state = &mut self.bands[band];
            state.missing -= 1;
            state.end = state.end.max(end);
            state.home = match state.home {
                Home::Nowhere => Home::At(unit),
                Home::At(home) if home == unit => Home::At(unit),
                Home::At(_) | Home::Spread => Home::Spread,
            };
            if state.missing == 0 {
                let state = *state;
                self.wake(band, state);
            }
        }
    }

    /// Tells the rTasks that wait for a band that it is complete.
    fn wake(&mut self, band: BandId, state: BandState) {
        let (first, end) = (self.starts[band.index()], self.starts[band.index() + 1]);
        for at in first..end {
            let (number, kind) = self.waiting[at as usize];
            let task = number as usize;
            let reach = match kind {
                EdgeKind::Counter => state.reach,
                EdgeKind::Sentinel => self.sentinel,
            };
            let far = state.end + reach;
            // The unit that completes the last band may go on at once if it has all of it.
            match state.home {
                Home::At(unit) if far > self.from[task] => {
                    self.near[task] = state.end.max(self.from[task]);
                    self.prefers[task] = unit as u32;
                }
                Home::At(_) | Home::Nowhere | Home::Spread => self.near[task] = self.near[task].max(far),
            }
            self.from[task] = self.from[task].max(far);
            self.missing[task] -= 1;
            if self.missing[task] == 0 {
                let near = self.prefers[task] != NO_UNIT && self.near[task] < self.from[task];
                let from = if near { self.near[task] } else { self.from[task] };
                self.pending.push(Reverse(Pending { from, task: number }));
            }
        }
    }
}
