//! Vector clocks: for every rTask of a segment, how much of every unit's stream has happened before it. Polls make an rTask run
//! later but leave its clock as it is.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;

use crate::plan::{CounterId, Instruction, OperatorId, PersistentSegment, RTask};
use crate::streams::polls::{Polls, TaskSet};
use crate::verify::operators::Operators;
use crate::verify::violation::Violation;

/// Where an rTask stands and what happens before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment {
    pub(super) unit: usize,
    /// The position in the unit's stream.
    pub(super) position: usize,
    /// Index of the clock that the rTask runs under.
    clock: usize,
}

/// The moments of all rTasks.
#[derive(Debug)]
pub(super) struct Clocks {
    clocks: Vec<Vec<u32>>,
    moments: Arena<OperatorId, Vec<Moment>>,
}

impl Clocks {
    /// Where all rTasks of an rOperator run side by side, after those of all rOperators of a lower position.
    pub(super) fn of_positions(operators: &Operators, positions: &Arena<OperatorId, usize>) -> Self {
        let moment = |id: OperatorId| Moment { unit: 0, position: positions[id], clock: 0 };
        let moments = operators.iter().map(|(id, operator)| vec![moment(id); operator.tasks() as usize]);
        Self { clocks: vec![vec![0]], moments: moments.collect() }
    }

    /// The number of rOperators.
    pub(super) fn operators(&self) -> usize {
        self.moments.len()
    }

    /// The number of units.
    pub(super) fn units(&self) -> usize {
        self.clocks.first().map_or(0, Vec::len)
    }

    /// The moment of an rTask.
    pub(super) fn moment(&self, task: RTask) -> Moment {
        self.moments[task.operator][task.tile as usize]
    }

    /// Per unit, how many instructions of its stream happen before a moment.
    pub(super) fn before_moment(&self, moment: Moment) -> impl Iterator<Item = usize> {
        self.clocks[moment.clock]
            .iter()
            .enumerate()
            .map(move |(unit, &seen)| if unit == moment.unit { moment.position } else { seen as usize })
    }

    /// Whether one rTask happens before another.
    pub(super) fn before(&self, earlier: Moment, later: Moment) -> bool {
        if earlier.unit == later.unit {
            return earlier.position < later.position;
        }
        (earlier.position as u32) < self.clocks[later.clock][earlier.unit]
    }
}

/// Runs the streams in one admissible order; a deadlock if they do not end.
///
/// Counters only grow, what is polled is written once, and a wait, once satisfied, stays so: whatever one order of
/// execution can finish, every order can.
pub(super) fn run(segment: &PersistentSegment, polls: &Polls) -> Result<Clocks, Vec<Violation>> {
    let mut state = State::new(segment, polls);
    let mut runnable: Vec<usize> = (0..segment.units()).rev().collect();
    while let Some(unit) = runnable.pop() {
        state.advance(unit, &mut runnable);
    }
    let stuck = state.positions.iter().enumerate().filter(|(unit, position)| **position < segment.streams[*unit].len());
    let stuck: Vec<(usize, usize)> = stuck.map(|(unit, position)| (unit, *position)).collect();
    if !stuck.is_empty() {
        return Err(vec![Violation::Deadlock(stuck)]);
    }
    let moments = state.moments.values().map(|tiles| {
        let ran = |moment: &Option<Moment>| moment.expect("every rTask runs once, as checked before");
        tiles.iter().map(ran).collect()
    });
    let moments = moments.collect();
    Ok(Clocks { clocks: state.clocks, moments })
}

struct CounterState {
    signals: u32,
    /// What happened before all signals so far.
    joined: Vec<u32>,
    /// What happened before each signal; kept where a wait is for fewer than all.
    each: Option<Vec<Vec<u32>>>,
    waiting: Vec<usize>,
}

struct State<'a> {
    segment: &'a PersistentSegment,
    polls: &'a Polls,
    /// The rTasks that have run, of those whose tagged values are polled.
    ran: TaskSet,
    /// Per rTask that has not run, the units that poll what it writes.
    polling: BTreeMap<RTask, Vec<usize>>,
    positions: Vec<usize>,
    /// Per unit, the index of its clock.
    current: Vec<usize>,
    clocks: Vec<Vec<u32>>,
    counters: Arena<CounterId, CounterState>,
    moments: Arena<OperatorId, Vec<Option<Moment>>>,
}

impl<'a> State<'a> {
    fn new(segment: &'a PersistentSegment, polls: &'a Polls) -> Self {
        let units = segment.units();
        let mut partial: Arena<CounterId, bool> = segment.counters.values().map(|_| false).collect();
        for instruction in segment.streams.iter().flatten() {
            if let Instruction::Wait { counter, signals } = *instruction {
                partial[counter] |= signals < segment.counters[counter].arrivals;
            }
        }
        let counter = |id: CounterId| CounterState {
            signals: 0,
            joined: vec![0; units],
            each: partial[id].then(Vec::new),
            waiting: Vec::new(),
        };
        Self {
            segment,
            polls,
            ran: TaskSet::default(),
            polling: BTreeMap::new(),
            positions: vec![0; units],
            current: (0..units).collect(),
            clocks: vec![vec![0; units]; units],
            counters: segment.counters.ids().map(counter).collect(),
            moments: segment.operators.values().map(|operator| vec![None; operator.tasks() as usize]).collect(),
        }
    }

    /// Runs a unit until it waits or ends; units that its signals free become runnable.
    fn advance(&mut self, unit: usize, runnable: &mut Vec<usize>) {
        while let Some(&instruction) = self.segment.streams[unit].get(self.positions[unit]) {
            let position = self.positions[unit];
            match instruction {
                Instruction::Run(task) => {
                    let missing = self.polls.writers(task).iter().find(|writer| !self.ran.contains(**writer));
                    if let Some(&missing) = missing {
                        self.polling.entry(missing).or_default().push(unit);
                        return;
                    }
                    if self.polls.is_polled(task) {
                        self.ran.insert(task);
                        runnable.extend(self.polling.remove(&task).into_iter().flatten());
                    }
                    let moment = Moment { unit, position, clock: self.current[unit] };
                    self.moments[task.operator][task.tile as usize] = Some(moment);
                }
                Instruction::Hold(_) | Instruction::Prefetch(_) => {}
                Instruction::Signal(counter) => {
                    self.signal(counter, unit, position);
                    runnable.append(&mut self.counters[counter].waiting);
                }
                Instruction::Wait { counter, signals } => {
                    if self.counters[counter].signals < signals {
                        self.counters[counter].waiting.push(unit);
                        return;
                    }
                    self.acquire(counter, signals, unit);
                }
            }
            self.positions[unit] += 1;
        }
    }

    fn signal(&mut self, counter: CounterId, unit: usize, position: usize) {
        let mut released = self.clocks[self.current[unit]].clone();
        released[unit] = position as u32 + 1;
        let state = &mut self.counters[counter];
        state.signals += 1;
        join(&mut state.joined, &released);
        if let Some(each) = &mut state.each {
            each.push(state.joined.clone());
        }
    }

    fn acquire(&mut self, counter: CounterId, signals: u32, unit: usize) {
        if signals == 0 {
            return;
        }
        let state = &self.counters[counter];
        let all = signals >= self.segment.counters[counter].arrivals;
        let acquired = match &state.each {
            Some(each) if !all => &each[signals as usize - 1],
            _ => &state.joined,
        };
        let mut clock = self.clocks[self.current[unit]].clone();
        join(&mut clock, acquired);
        self.current[unit] = self.clocks.len();
        self.clocks.push(clock);
    }
}

fn join(clock: &mut [u32], other: &[u32]) {
    for (own, other) in clock.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}
