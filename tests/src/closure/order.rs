//! What happens before what, as the transitive closure over the phases of all streams.
//!
//! A phase is a longest run of waits, then rTasks, then signals of one stream. Everything that one of its waits orders
//! comes before all of its rTasks, and all of them before each of its signals. So the closure over phases, with stream
//! order inside them, is the closure over instructions. An rTask that polls begins a phase, which runs only after those
//! of the rTasks whose values it polls; the closure knows nothing of that.

use std::collections::BTreeSet;

use warpweave::graph::arena::{Arena, Id};
use warpweave::plan::plan::{CounterId, Instruction, PersistentSegment};

use crate::closure::accesses::{Accesses, TaskNumber};

/// Why no order can be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Disorder {
    /// A stream names what does not exist.
    Unknown,
    /// An rTask does not run exactly once.
    TaskCount(TaskNumber),
    /// A counter's declaration disagrees with the streams, so it drifts from launch to launch.
    Arrivals(CounterId),
    /// A wait for some signals of several units.
    Ambiguous(CounterId),
    /// Units wait for signals that never come.
    Starved(BTreeSet<usize>),
}

#[derive(Default)]
struct Phase {
    unit: usize,
    waits: Vec<(CounterId, u32)>,
    signals: Vec<CounterId>,
    runs: bool,
    /// Whose values its first rTask polls.
    polls: Vec<TaskNumber>,
}

/// Where an rTask stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct StreamPosition {
    phase: usize,
    unit: usize,
    position: usize,
}

/// The order of a segment's rTasks.
pub struct Order {
    places: Vec<StreamPosition>,
    /// Words of a row.
    words: usize,
    /// Per phase, in an order of execution, the phases before it.
    rows: Vec<u64>,
}

impl Order {
    /// The order that a segment's streams imply.
    pub fn new(segment: &PersistentSegment, accesses: &Accesses) -> Result<Self, Disorder> {
        let mut phases: Vec<Phase> = Vec::new();
        let mut places: Vec<Option<StreamPosition>> = vec![None; accesses.tasks.len()];
        for (unit, stream) in segment.streams.iter().enumerate() {
            phases.push(Phase { unit, ..Phase::default() });
            for (position, instruction) in stream.iter().enumerate() {
                let last = phases.last().expect("pushed above");
                let begins = match instruction {
                    Instruction::Wait { .. } => last.runs || !last.signals.is_empty(),
                    Instruction::Run(task) => {
                        let polls =
                            accesses.number(*task).is_some_and(|task| !accesses.polled[task as usize].is_empty());
                        !last.signals.is_empty() || polls && last.runs
                    }
                    Instruction::Hold(_) | Instruction::Prefetch(_) | Instruction::Signal(_) => false,
                };
                if begins {
                    phases.push(Phase { unit, ..Phase::default() });
                }
                let phase = phases.len() - 1;
                match *instruction {
                    Instruction::Run(task) => {
                        let task = accesses.number(task).ok_or(Disorder::Unknown)?;
                        if places[task as usize].replace(StreamPosition { phase, unit, position }).is_some() {
                            return Err(Disorder::TaskCount(task));
                        }
                        phases[phase].runs = true;
                        let polls = accesses.polled[task as usize].iter().flat_map(|writers| writers.iter());
                        phases[phase].polls.extend(polls);
                    }
                    Instruction::Hold(_) | Instruction::Prefetch(_) => {}
                    Instruction::Wait { counter, signals } => phases[phase].waits.push((counter, signals)),
                    Instruction::Signal(counter) => phases[phase].signals.push(counter),
                }
            }
        }
        let missing = places.iter().position(Option::is_none);
        if let Some(task) = missing {
            return Err(Disorder::TaskCount(task as TaskNumber));
        }
        let counters = Signals::new(segment, &phases)?;
        let (order, rank) = execute(&phases, segment, &places)?;
        let words = phases.len().div_ceil(64);
        let rows = closure(&phases, &order, &rank, &counters, words);
        let ranked = |place: Option<StreamPosition>| {
            let place = place.expect("every rTask has its place");
            StreamPosition { phase: rank[place.phase], ..place }
        };
        Ok(Self { places: places.into_iter().map(ranked).collect(), words, rows })
    }

    /// Whether one rTask ends before another begins, in every execution.
    pub fn before(&self, earlier: TaskNumber, later: TaskNumber) -> bool {
        let (earlier, later) = (self.places[earlier as usize], self.places[later as usize]);
        if earlier.unit == later.unit {
            return earlier.position < later.position;
        }
        self.row(later.phase)[earlier.phase / 64] >> (earlier.phase % 64) & 1 == 1
    }

    /// Whether all of `earlier` end before any of `later` begins.
    pub fn all_before(&self, earlier: &BTreeSet<TaskNumber>, later: &BTreeSet<TaskNumber>) -> bool {
        let mut mask = vec![0u64; self.words];
        for &task in earlier {
            let phase = self.places[task as usize].phase;
            mask[phase / 64] |= 1 << (phase % 64);
        }
        let phases: BTreeSet<usize> = later.iter().map(|&task| self.places[task as usize].phase).collect();
        phases.into_iter().all(|phase| {
            let row = self.row(phase);
            let own = |word: usize| if word == phase / 64 { 1 << (phase % 64) } else { 0 };
            let covered = mask.iter().zip(row).enumerate().all(|(word, (mask, row))| mask & !row & !own(word) == 0);
            covered && (mask[phase / 64] >> (phase % 64) & 1 == 0 || self.in_stream_order(earlier, later, phase))
        })
    }

    /// Whether, within one phase, all of `earlier` stand before all of `later`.
    fn in_stream_order(&self, earlier: &BTreeSet<TaskNumber>, later: &BTreeSet<TaskNumber>, phase: usize) -> bool {
        let positions = |tasks: &BTreeSet<TaskNumber>| -> Vec<usize> {
            let places = tasks.iter().map(|&task| self.places[task as usize]);
            places.filter(|place| place.phase == phase).map(|place| place.position).collect()
        };
        positions(earlier).into_iter().max() < positions(later).into_iter().min()
    }

    fn row(&self, phase: usize) -> &[u64] {
        &self.rows[phase * self.words..(phase + 1) * self.words]
    }
}

/// Who gives the signals of each counter, by phase; a phase that gives several stands there as often.
struct Signals {
    phases: Arena<CounterId, Vec<usize>>,
}

impl Signals {
    fn new(segment: &PersistentSegment, phases: &[Phase]) -> Result<Self, Disorder> {
        let mut by_counter: Arena<CounterId, Vec<usize>> = segment.counters.values().map(|_| Vec::new()).collect();
        for (phase, signals) in phases.iter().enumerate().map(|(at, phase)| (at, &phase.signals)) {
            for &counter in signals {
                by_counter.get(counter).ok_or(Disorder::Unknown)?;
                by_counter[counter].push(phase);
            }
        }
        for (counter, signals) in by_counter.iter() {
            if segment.counters[counter].arrivals as usize != signals.len() {
                return Err(Disorder::Arrivals(counter));
            }
        }
        for &(counter, needed) in phases.iter().flat_map(|phase| &phase.waits) {
            let signals = by_counter.get(counter).ok_or(Disorder::Unknown)?;
            let units: BTreeSet<usize> = signals.iter().map(|&phase| phases[phase].unit).collect();
            if (needed as usize) < signals.len() && units.len() > 1 {
                return Err(Disorder::Ambiguous(counter));
            }
        }
        Ok(Self { phases: by_counter })
    }
}

/// Runs phase after phase as long as the waits and polls of one are satisfied: the order, and each phase's rank in it.
fn execute(
    phases: &[Phase],
    segment: &PersistentSegment,
    places: &[Option<StreamPosition>],
) -> Result<(Vec<usize>, Vec<usize>), Disorder> {
    let mut given: Arena<CounterId, u32> = segment.counters.values().map(|_| 0).collect();
    let mut order = Vec::with_capacity(phases.len());
    let mut rank = vec![usize::MAX; phases.len()];
    loop {
        let before = order.len();
        for (at, phase) in phases.iter().enumerate() {
            let done = rank[at] != usize::MAX;
            let follows = at > 0 && phases[at - 1].unit == phase.unit;
            let reached = !follows || rank[at - 1] != usize::MAX;
            let has_run =
                |task: &TaskNumber| places[*task as usize].is_some_and(|place| rank[place.phase] != usize::MAX);
            if done
                || !reached
                || !phase.polls.iter().all(has_run)
                || phase.waits.iter().any(|&(counter, needed)| given[counter] < needed)
            {
                continue;
            }
            phase.signals.iter().for_each(|&counter| given[counter] += 1);
            rank[at] = order.len();
            order.push(at);
        }
        if order.len() == phases.len() {
            return Ok((order, rank));
        }
        if order.len() == before {
            let stuck = phases.iter().enumerate().filter(|(at, _)| rank[*at] == usize::MAX);
            return Err(Disorder::Starved(stuck.map(|(_, phase)| phase.unit).collect()));
        }
    }
}

/// One row of bits a phase, in order of execution: the phases that happen before it.
fn closure(phases: &[Phase], order: &[usize], rank: &[usize], counters: &Signals, words: usize) -> Vec<u64> {
    let mut rows = vec![0u64; words * phases.len()];
    let mut all: Vec<Option<Vec<u64>>> = vec![None; counters.phases.len()];
    for (own, &at) in order.iter().enumerate() {
        // A row has no bit beyond its own rank.
        let used = own.div_ceil(64);
        let (earlier, rest) = rows.split_at_mut(own * words);
        let row = &mut rest[..words];
        let join = |row: &mut [u64], phase: usize| {
            let before = rank[phase];
            let used = before.div_ceil(64);
            let source = &earlier[before * words..before * words + used];
            row.iter_mut().zip(source).for_each(|(word, source)| *word |= source);
            row[before / 64] |= 1 << (before % 64);
        };
        if at > 0 && phases[at - 1].unit == phases[at].unit {
            join(row, at - 1);
        }
        for &(counter, needed) in &phases[at].waits {
            let signals = &counters.phases[counter];
            if needed as usize == signals.len() {
                let joined = all[counter.index()].get_or_insert_with(|| {
                    let mut joined = vec![0u64; words];
                    signals.iter().for_each(|&phase| join(&mut joined, phase));
                    joined
                });
                row[..used].iter_mut().zip(joined).for_each(|(word, joined)| *word |= *joined);
            } else {
                signals[..needed as usize].iter().for_each(|&phase| join(row, phase));
            }
        }
    }
    rows
}
