//! What a plan takes on the cost model: every unit walks its stream, rTasks take their estimated times, waits last until
//! the signals arrive.
//!
//! An exchange takes longer the more units take part at the counter. A signal after an rTask waits for what it has
//! stored. A wait that finds its signals still polls once. An rTask that polls has what it polls one tagged value's way
//! after the rTasks that write it end, and takes its time from there. An rTask that prefetches takes less time by what
//! its loads of constants take, as far as they end while it waits. Units do not slow one another down otherwise.

pub mod graph;
pub mod plan;

use warpweave_graph::arena::{Arena, Id};

use crate::cost::sync::SyncCosts;
use warpweave_plan::template::weight_stationary::reads::resident_bytes;

use warpweave_plan::plan::{CounterId, Instruction, OperatorId, PersistentSegment, ROperator, RTask};
use warpweave_plan::streams::polls::Polls;

/// One instruction in time, in microseconds from the start of the segment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    pub instruction: Instruction,
    /// When the unit comes to it.
    pub start: f64,
    /// Microseconds from there in which an rTask polls.
    pub polled: f64,
    /// When the unit goes on.
    pub end: f64,
    /// What decided when it ended, if not the instruction before it: unit and position of a signal, or of an rTask
    /// whose tagged values are polled.
    pub released_by: Option<(usize, usize)>,
}

/// A simulated run.
#[derive(Clone, PartialEq, Debug)]
pub struct Simulation {
    /// Microseconds from the start to the end of the last unit.
    pub makespan: f64,
    /// Per unit, its stream in time.
    pub units: Vec<Vec<Event>>,
}

/// Sums over a simulated run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// The share of all units' time in which rTasks run, or what they keep comes on chip.
    pub running: f64,
    /// The share in which units wait for signals or poll.
    pub waiting: f64,
    /// The share in which they give signals.
    pub signalling: f64,
}

/// A time factor between 0.85 and 1.15 for every rTask, by a seed; 1 without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jitter {
    /// Estimates hold.
    None,
    /// Every rTask takes up to 15 % more or less.
    Seeded(u64),
}

impl Jitter {
    /// The factor of an rTask.
    pub fn factor(self, number: u64) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Seeded(seed) => {
                // SplitMix64.
                let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number.wrapping_mul(0xbf58_476d));
                word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                word ^= word >> 31;
                0.85 + 0.3 * (word >> 11) as f64 / (1u64 << 53) as f64
            }
        }
    }
}

/// Simulates a segment whose rTasks take the times that they are estimated to take.
///
/// # Panics
/// If the segment deadlocks; verified ones do not.
pub fn simulate(segment: &PersistentSegment, polls: &Polls, costs: &SyncCosts, jitter: Jitter) -> Simulation {
    let first = first_numbers(&segment.operators);
    let time = |task: RTask| {
        let number = first[task.operator] + u64::from(task.tile);
        segment.operators[task.operator].task_microseconds * jitter.factor(number)
    };
    simulate_with(segment, polls, costs, &time)
}

/// Per rOperator, the number of its first rTask among all.
pub(crate) fn first_numbers(operators: &Arena<OperatorId, ROperator>) -> Arena<OperatorId, u64> {
    let mut tasks = 0;
    let numbers = operators.values().map(|operator| {
        let first = tasks;
        tasks += u64::from(operator.tasks());
        first
    });
    numbers.collect()
}

/// The microseconds of [`simulate`] without jitter.
pub fn makespan(segment: &PersistentSegment, polls: &Polls, costs: &SyncCosts) -> f64 {
    simulate(segment, polls, costs, Jitter::None).makespan
}

/// Simulates a segment whose rTasks take `time` microseconds.
///
/// # Panics
/// If the segment deadlocks; verified ones do not.
pub fn simulate_with(
    segment: &PersistentSegment,
    polls: &Polls,
    costs: &SyncCosts,
    time: &impl Fn(RTask) -> f64,
) -> Simulation {
    let mut run = Run::new(segment, polls, costs);
    let mut runnable: Vec<usize> = (0..segment.units()).rev().collect();
    while let Some(unit) = runnable.pop() {
        run.advance(unit, time, &mut runnable);
    }
    let ended = run.units.iter().zip(&segment.streams).all(|(events, stream)| events.len() == stream.len());
    assert!(ended, "only plans without deadlock are simulated");
    let ends = run.units.iter().filter_map(|events| events.last()).map(|event| event.end);
    Simulation { makespan: ends.fold(0.0, f64::max), units: run.units }
}

/// How kernels are launched one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launch {
    /// Each by itself, into one stream.
    Stream,
    /// As nodes of one graph, which is launched once.
    Graph,
}

/// Microseconds of kernels that run one after another, each given as what it takes beyond its launch. This is a lower
/// estimate, because filling and emptying the device between kernels is left out.
pub fn kernel_sequence(kernels: impl Iterator<Item = f64>, launch: Launch, costs: &SyncCosts) -> f64 {
    let (first, next) = match launch {
        Launch::Stream => (costs.stream_launch.value, costs.stream_launch.value),
        Launch::Graph => (costs.graph_launch.value, costs.graph_node.value),
    };
    kernels.enumerate().map(|(at, time)| time + if at == 0 { first } else { next }).sum()
}

impl Simulation {
    /// The steps that decide the makespan, last first: unit and position.
    pub fn critical_path(&self) -> Vec<(usize, usize)> {
        let end = |events: &[Event]| events.last().map_or(0.0, |event| event.end);
        let last = (0..self.units.len()).max_by(|&a, &b| end(&self.units[a]).total_cmp(&end(&self.units[b])));
        let mut path = Vec::new();
        let mut at = last.filter(|&unit| !self.units[unit].is_empty()).map(|unit| (unit, self.units[unit].len() - 1));
        while let Some((unit, position)) = at {
            path.push((unit, position));
            let previous = position.checked_sub(1).map(|position| (unit, position));
            at = self.units[unit][position].released_by.or(previous);
        }
        path
    }

    /// The rTasks on the critical path.
    pub fn critical_steps(&self) -> usize {
        let is_run =
            |&(unit, position): &(usize, usize)| matches!(self.units[unit][position].instruction, Instruction::Run(_));
        self.critical_path().iter().filter(|at| is_run(at)).count()
    }

    /// What the units do with their time.
    pub fn shares(&self) -> Shares {
        let mut shares = Shares { running: 0.0, waiting: 0.0, signalling: 0.0 };
        for event in self.units.iter().flatten() {
            let share = match event.instruction {
                Instruction::Run(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => {
                    shares.waiting += event.polled;
                    shares.running -= event.polled;
                    &mut shares.running
                }
                Instruction::Wait { .. } => &mut shares.waiting,
                Instruction::Signal(_) => &mut shares.signalling,
            };
            *share += event.end - event.start;
        }
        let total = self.makespan * self.units.len() as f64;
        let of = |time: f64| if total > 0.0 { time / total } else { 0.0 };
        Shares { running: of(shares.running), waiting: of(shares.waiting), signalling: of(shares.signalling) }
    }

    /// Per unit, the share of the makespan in which it runs rTasks.
    pub fn utilisation(&self) -> Vec<f64> {
        let of_unit = |events: &Vec<Event>| {
            let runs = events.iter().filter(|event| matches!(event.instruction, Instruction::Run(_)));
            runs.map(|event| event.end - event.start - event.polled).sum::<f64>() / self.makespan.max(f64::MIN_POSITIVE)
        };
        self.units.iter().map(of_unit).collect()
    }
}

/// A signal on its way.
#[derive(Clone, Copy)]
struct Arrival {
    at: f64,
    from: (usize, usize),
}

#[derive(Default)]
struct CounterState {
    /// Microseconds of an exchange between those who signal and wait.
    exchange: f64,
    signals: u32,
    /// The arrivals so far, and the latest of them.
    latest: Option<Arrival>,
    /// Every arrival, where a wait is for fewer than all.
    each: Option<Vec<Arrival>>,
    waiting: Vec<usize>,
}

/// What is known of an rTask whose tagged values are polled.
#[derive(Default)]
struct PolledState {
    /// When it ends, and where it stands.
    ended: Option<Arrival>,
    waiting: Vec<usize>,
}

/// When an instruction ends, and why then.
struct Ended {
    at: f64,
    polled: f64,
    released_by: Option<(usize, usize)>,
}

impl Ended {
    fn at(at: f64) -> Self {
        Self { at, polled: 0.0, released_by: None }
    }
}

struct Run<'a> {
    segment: &'a PersistentSegment,
    polls: &'a Polls,
    /// By rOperator and tile, as far as they are polled.
    polled: Vec<Vec<PolledState>>,
    costs: &'a SyncCosts,
    counters: Arena<CounterId, CounterState>,
    units: Vec<Vec<Event>>,
}

impl<'a> Run<'a> {
    fn new(segment: &'a PersistentSegment, polls: &'a Polls, costs: &'a SyncCosts) -> Self {
        // Units are counted in order, so a counter's last party tells whether this one is new.
        let mut parties: Arena<CounterId, (usize, Option<usize>)> =
            segment.counters.values().map(|_| (0, None)).collect();
        let mut takes_part = |counter: CounterId, unit: usize| {
            let (count, last) = &mut parties[counter];
            *count += usize::from(*last != Some(unit));
            *last = Some(unit);
        };
        let mut partial: Arena<CounterId, bool> = segment.counters.values().map(|_| false).collect();
        for (unit, stream) in segment.streams.iter().enumerate() {
            for instruction in stream {
                match *instruction {
                    Instruction::Run(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
                    Instruction::Signal(counter) => takes_part(counter, unit),
                    Instruction::Wait { counter, signals } => {
                        takes_part(counter, unit);
                        partial[counter] |= signals < segment.counters[counter].arrivals;
                    }
                }
            }
        }
        let state = |counter: CounterId| CounterState {
            exchange: costs.exchange_microseconds(parties[counter].0),
            each: partial[counter].then(Vec::new),
            ..CounterState::default()
        };
        Self {
            segment,
            polls,
            polled: Vec::new(),
            costs,
            counters: segment.counters.ids().map(state).collect(),
            units: segment.streams.iter().map(|stream| Vec::with_capacity(stream.len())).collect(),
        }
    }

    /// Runs a unit until it waits for signals that have not been given, or ends.
    fn advance(&mut self, unit: usize, time: &impl Fn(RTask) -> f64, runnable: &mut Vec<usize>) {
        while let Some(&instruction) = self.segment.streams[unit].get(self.units[unit].len()) {
            let start = self.units[unit].last().map_or(0.0, |event| event.end);
            let ended = match instruction {
                Instruction::Run(task) => {
                    let time = time(task) - self.prefetched(task, unit, start);
                    self.run(task, time.max(0.0), unit, start, runnable)
                }
                Instruction::Prefetch(_) => Some(Ended::at(start)),
                Instruction::Hold(task) => Some(Ended::at(start + self.bring(task))),
                Instruction::Signal(counter) => Some(Ended::at(self.signal(counter, unit, start, runnable))),
                Instruction::Wait { counter, signals } => self.wait(counter, signals, unit, start),
            };
            let Some(Ended { at: end, polled, released_by }) = ended else { return };
            self.units[unit].push(Event { instruction, start, polled, end, released_by });
        }
    }

    /// Runs an rTask after what it polls; `None` if some of that is not there.
    fn run(&mut self, task: RTask, time: f64, unit: usize, start: f64, runnable: &mut Vec<usize>) -> Option<Ended> {
        let mut latest: Option<Arrival> = None;
        for &writer in self.polls.writers(task) {
            let state = self.polled_state(writer);
            let Some(ended) = state.ended else {
                state.waiting.push(unit);
                return None;
            };
            let there = Arrival { at: ended.at + self.costs.tagged_value.value, ..ended };
            latest = latest.filter(|latest| latest.at >= there.at).or(Some(there));
        }
        let late = latest.filter(|latest| latest.at > start);
        let polled = late.map_or(0.0, |late| late.at - start);
        let at = start + polled + time;
        if self.polls.is_polled(task) {
            let from = (unit, self.units[unit].len());
            let state = self.polled_state(task);
            state.ended = Some(Arrival { at, from });
            runnable.append(&mut state.waiting);
        }
        Some(Ended { at, polled, released_by: late.map(|late| late.from) })
    }

    fn polled_state(&mut self, task: RTask) -> &mut PolledState {
        let (operator, tile) = (task.operator.index(), task.tile as usize);
        if self.polled.len() <= operator {
            self.polled.resize_with(operator + 1, Vec::new);
        }
        let states = &mut self.polled[operator];
        if states.len() <= tile {
            states.resize_with(tile + 1, PolledState::default);
        }
        &mut states[tile]
    }

    /// Microseconds of an rTask's loads that are over when it starts, because they were begun before its waits.
    fn prefetched(&self, task: RTask, unit: usize, start: f64) -> f64 {
        let is_wait = |event: &&Event| matches!(event.instruction, Instruction::Wait { .. });
        match self.units[unit].iter().rev().find(|event| !is_wait(event)) {
            Some(event) if event.instruction == Instruction::Prefetch(task) => {
                (start - event.start).min(self.segment.operators[task.operator].prologue_microseconds)
            }
            Some(_) | None => 0.0,
        }
    }

    /// Microseconds in which what an rTask keeps comes on chip, while every unit brings its own.
    fn bring(&self, task: RTask) -> f64 {
        let operator = &self.segment.operators[task.operator];
        resident_bytes(&operator.kernel) as f64 / self.costs.keep.value
    }

    /// Gives a signal; when the unit goes on.
    fn signal(&mut self, counter: CounterId, unit: usize, start: f64, runnable: &mut Vec<usize>) -> f64 {
        let after_run = self.units[unit].last().is_some_and(|event| matches!(event.instruction, Instruction::Run(_)));
        let drain = if after_run { self.costs.drain.value } else { 0.0 };
        let state = &mut self.counters[counter];
        let arrival = Arrival { at: start + drain + state.exchange, from: (unit, self.units[unit].len()) };
        state.signals += 1;
        if state.latest.is_none_or(|latest| arrival.at > latest.at) {
            state.latest = Some(arrival);
        }
        if let Some(each) = &mut state.each {
            each.push(arrival);
        }
        runnable.append(&mut state.waiting);
        start + drain + self.costs.release.value
    }

    /// When a wait ends, and whose signal ended it; `None` if signals are missing.
    fn wait(&mut self, counter: CounterId, signals: u32, unit: usize, start: f64) -> Option<Ended> {
        let polled = start + self.costs.poll.value;
        let state = &mut self.counters[counter];
        if state.signals < signals {
            state.waiting.push(unit);
            return None;
        }
        let all = signals >= self.segment.counters[counter].arrivals;
        let last = match &state.each {
            Some(each) if !all => signals.checked_sub(1).map(|at| each[at as usize]),
            Some(_) | None => state.latest.filter(|_| signals > 0),
        };
        match last {
            Some(arrival) if arrival.at > polled => {
                Some(Ended { at: arrival.at, polled: 0.0, released_by: Some(arrival.from) })
            }
            Some(_) | None => Some(Ended::at(polled)),
        }
    }
}
