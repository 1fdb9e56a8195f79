//! Streams of a placement: a wait for every dependence that is not implied yet, and a signal for every wait.
//!
//! Per unit a clock says how much of every other unit has happened before. A band that the clock covers needs no wait:
//! that is the transitive reduction over stream order and earlier waits. Neither does a tile that the unit itself has made,
//! whatever band it is of. What is polled needs no wait, and a poll adds
//! nothing to the clock.

use rustc_hash::FxHashMap;
use warpweave_graph::arena::Arena;

use crate::schedule::dependence::bands::{BandId, Bands};
use crate::schedule::placement::{Placement, Step, Work};
use warpweave_plan::plan::{Counter, CounterId, EdgeKind, Instruction, OperatorId, RTask};

/// The streams and counters of a segment.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// One stream a unit.
    pub streams: Vec<Vec<Instruction>>,
    pub counters: Arena<CounterId, Counter>,
    /// Pairs of an rTask and a band that it must come after, before redundant ones are removed.
    pub needs: usize,
}

/// A step whose counter is still named by what it counts.
#[derive(Clone, Copy)]
enum BandStep {
    Step(Instruction),
    Wait(BandId),
    Signal(BandId),
    Meet(usize),
}

/// The last rTask of a band on a unit: the unit, and how many rTasks it has run then.
type Last = (usize, u32);

struct Synchroniser {
    /// Per band and unit with tiles of it, the last.
    lasts: Arena<BandId, Vec<Last>>,
    /// Per step, the bands of which it is its unit's last.
    ends: Vec<[Option<BandId>; 2]>,
    /// Per band, the step that completes it.
    completed: Arena<BandId, usize>,
    /// Per band that may be waited for, the vector clock of its signals.
    clocks: Arena<BandId, Vec<u32>>,
    /// Per unit, how many rTasks of every unit have happened.
    known: Vec<Vec<u32>>,
    /// Per unit and band, whether all of the band is known to have happened. It stays so.
    covered: Vec<Arena<BandId, bool>>,
    band_steps: Vec<Vec<BandStep>>,
    waited: Arena<BandId, bool>,
    needs: usize,
}

/// Streams that run a placement. Besides what it reads, every rTask of an rOperator comes after all of `after`, the bands
/// of rOperators whose memory it overwrites.
pub fn synchronise(
    work: &Work,
    placement: &Placement,
    after: &Arena<OperatorId, Vec<OperatorId>>,
    units: usize,
) -> Streams {
    let mut synchroniser = Synchroniser::new(work.bands, &placement.steps, units);
    let mut barriers = placement.barriers.iter().copied().enumerate().peekable();
    let (sets, reuse) = distinct(after);
    let mut settled = vec![vec![false; sets]; units];
    let mut needs = Vec::new();
    let mut units_of: Arena<OperatorId, Vec<Option<usize>>> =
        work.operators.values().map(|operator| vec![None; operator.tasks() as usize]).collect();
    for (number, step) in placement.steps.iter().enumerate() {
        while let Some((barrier, _)) = barriers.next_if(|(_, at)| *at == number) {
            synchroniser.meet(barrier);
        }
        let is_own = |task: RTask| units_of[task.operator][task.tile as usize] == Some(step.unit);
        work.needs_beside(step.task, EdgeKind::Counter, is_own, &mut needs);
        units_of[step.task.operator][step.task.tile as usize] = Some(step.unit);
        if !std::mem::replace(&mut settled[step.unit][reuse[step.task.operator]], true) {
            needs.extend(after[step.task.operator].iter().map(|&operator| work.bands.whole(operator)));
        }
        synchroniser.run(number, step, &mut needs);
    }
    synchroniser.number(placement.barriers.len(), units)
}

/// How many different lists there are, and per rOperator the number of its own.
fn distinct(after: &Arena<OperatorId, Vec<OperatorId>>) -> (usize, Arena<OperatorId, usize>) {
    let mut known: FxHashMap<&[OperatorId], usize> = FxHashMap::default();
    let mut numbers: Arena<OperatorId, usize> = Arena::new();
    for list in after.values() {
        let next = known.len();
        numbers.push(*known.entry(list).or_insert(next));
    }
    (known.len(), numbers)
}

impl Synchroniser {
    fn new(bands: &Bands, steps: &[Step], units: usize) -> Self {
        let mut lasts: Arena<BandId, Vec<Last>> = (0..bands.len()).map(|_| Vec::new()).collect();
        let mut ended: Arena<BandId, Vec<bool>> = (0..bands.len()).map(|_| vec![false; units]).collect();
        let mut completed: Arena<BandId, usize> = (0..bands.len()).map(|_| 0).collect();
        let mut ends = vec![[None; 2]; steps.len()];
        let mut runs = vec![0; units];
        steps.iter().for_each(|step| runs[step.unit] += 1);
        for (number, step) in steps.iter().enumerate().rev() {
            for (band, end) in bands.of(step.task.operator, step.task.tile).zip(&mut ends[number]) {
                completed[band] = completed[band].max(number);
                if !std::mem::replace(&mut ended[band][step.unit], true) {
                    lasts[band].push((step.unit, runs[step.unit]));
                    *end = Some(band);
                }
            }
            runs[step.unit] -= 1;
        }
        Self {
            lasts,
            ends,
            completed,
            clocks: (0..bands.len()).map(|_| Vec::new()).collect(),
            known: vec![vec![0; units]; units],
            covered: vec![(0..bands.len()).map(|_| false).collect(); units],
            band_steps: vec![Vec::new(); units],
            waited: (0..bands.len()).map(|_| false).collect(),
            needs: 0,
        }
    }

    /// All units meet.
    fn meet(&mut self, barrier: usize) {
        let all: Vec<u32> = (0..self.known.len()).map(|unit| self.known[unit][unit]).collect();
        for (stream, known) in self.band_steps.iter_mut().zip(&mut self.known) {
            stream.push(BandStep::Meet(barrier));
            known.clone_from(&all);
        }
    }

    /// Appends an rTask, the step of this number, after what it needs.
    fn run(&mut self, number: usize, step: &Step, needs: &mut Vec<BandId>) {
        let unit = step.unit;
        self.needs += needs.len();
        needs.retain(|&band| !self.covered[unit][band]);
        // Waiting for the latest often implies the others; what is left is looked at while the latest is not there yet.
        needs.sort_by_key(|&band| std::cmp::Reverse((self.completed[band], band)));
        let before = self.band_steps[unit].len();
        for &mut band in needs {
            let known = &self.known[unit];
            let is_known = self.lasts[band].iter().all(|&(other, last)| other == unit || known[other] >= last);
            self.covered[unit][band] = is_known;
            if is_known {
                continue;
            }
            self.band_steps[unit].push(BandStep::Wait(band));
            self.waited[band] = true;
            join(&mut self.known[unit], &self.clocks[band]);
        }
        self.band_steps[unit][before..].reverse();
        self.band_steps[unit].push(BandStep::Step(Instruction::Run(step.task)));
        self.known[unit][unit] += 1;
        for band in self.ends[number].into_iter().flatten() {
            self.band_steps[unit].push(BandStep::Signal(band));
            if self.clocks[band].is_empty() {
                self.clocks[band].clone_from(&self.known[unit]);
            } else {
                join(&mut self.clocks[band], &self.known[unit]);
            }
        }
    }

    /// Numbers the counters that are waited for, and drops the signals of the others.
    fn number(self, barriers: usize, units: usize) -> Streams {
        let mut counters: Arena<CounterId, Counter> = Arena::new();
        let barriers: Vec<CounterId> =
            (0..barriers).map(|_| counters.push(Counter { arrivals: units as u32 })).collect();
        let number = |band: BandId| {
            let arrivals = self.lasts[band].len() as u32;
            self.waited[band].then(|| counters.push(Counter { arrivals }))
        };
        let numbers: Arena<BandId, Option<CounterId>> = self.waited.ids().map(number).collect();
        let instructions = |step: BandStep| match step {
            BandStep::Step(instruction) => [Some(instruction), None],
            BandStep::Wait(band) => {
                let counter = numbers[band].expect("what is waited for has a number");
                [Some(Instruction::Wait { counter, signals: counters[counter].arrivals }), None]
            }
            BandStep::Signal(band) => [numbers[band].map(Instruction::Signal), None],
            BandStep::Meet(barrier) => {
                let counter = barriers[barrier];
                let signals = units as u32;
                [Some(Instruction::Signal(counter)), Some(Instruction::Wait { counter, signals })]
            }
        };
        let stream = |steps: &Vec<BandStep>| steps.iter().flat_map(|&step| instructions(step)).flatten().collect();
        let streams = self.band_steps.iter().map(stream).collect();
        Streams { streams, counters, needs: self.needs }
    }
}

fn join(clock: &mut [u32], other: &[u32]) {
    for (own, other) in clock.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}
