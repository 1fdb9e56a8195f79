//! What a thread of the pointwise template fetches for the points that it computes side by side.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Condition, Guard, Index, Range, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::program::TensorId;

use crate::body::{GroupBody, Stage, StageSource};
use crate::template::pointwise::runs::{Runs, VECTOR};
use crate::template::pointwise::walk::{Tap, Walk};

/// One load of a thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fetch {
    /// The read that asks for it first.
    pub read: ReadId,
    /// The first of the thread's points that needs it.
    pub point: usize,
    /// The tap that needs it first.
    pub tap: usize,
    /// Where it lies, in terms of the first point of a run, or of its own point where there are no runs, and of where loops
    /// stand.
    pub at: Read,
    /// Elements that it brings: 1, or a vector along the run.
    pub width: usize,
}

/// A load that several stages of a group may ask for: the tensor, and what the load brings of it.
pub type SharedFetch = (TensorId, Fetch);

impl Fetch {
    /// This load apart from the stage of a body that asks for it; `None` if it is of a place that data of the stage names.
    pub fn shared(&self, body: &GroupBody, stage: usize) -> Option<SharedFetch> {
        let StageSource::Operand(operand) = body.stages[stage].sources[self.at.operand] else { return None };
        let at = Read { operand: 0, ..self.at.clone() };
        at.is_free_of_reads()
            .then(|| (body.operands[operand], Self { read: ReadId::from_index(0), at, ..self.clone() }))
    }
}

/// Everything that one walk through taps fetches, each element once.
#[derive(Clone, Debug, Default)]
pub struct Fetches {
    /// The loads, in the order of the taps.
    pub list: Vec<Fetch>,
    places: FxHashMap<(ReadId, usize, usize), (usize, usize)>,
}

/// The points that a thread computes side by side.
#[derive(Clone, Copy, Debug)]
pub struct Points {
    /// How many.
    pub count: usize,
    /// How they lie to one another, if they are neighbours.
    pub runs: Option<Runs>,
}

impl Fetches {
    /// The loads of a scalar of a stage at all points and taps, those of places left out. `is_wide` says of a read whether vectors
    /// along a run are vectors in memory. Places that are read from a tensor are the same for all points of a run.
    pub fn of(stage: &Stage, scalar: &Scalar, points: Points, walk: &Walk, is_wide: &dyn Fn(ReadId) -> bool) -> Self {
        let expr = &stage.expr;
        let in_memory = |read: &ReadId| {
            let source = stage.sources[expr.reads[*read].operand];
            matches!(source, StageSource::Operand(_))
        };
        let mut reads: BTreeSet<ReadId> = BTreeSet::new();
        scalar.visit(&mut |part| {
            if let Scalar::Read(read) = part {
                reads.insert(*read);
            }
        });
        let reads: Vec<ReadId> = reads.into_iter().filter(in_memory).collect();
        let is_common = |read: &ReadId| points.runs.is_some_and(|runs| runs.is_common(&expr.reads[*read].guard));
        let wide: Vec<bool> = reads.iter().map(|read| is_common(read) && is_wide(*read)).collect();
        let moved = Moved { expr, runs: points.runs, walk };
        let mut found = Self::default();
        let mut known: FxHashMap<(usize, Read), usize> = FxHashMap::default();
        for (number, tap) in walk.taps().iter().enumerate() {
            for point in 0..points.count {
                for (&read, &wide) in reads.iter().zip(&wide) {
                    let (width, element) = if wide { (VECTOR, point % VECTOR) } else { (1, 0) };
                    let at = moved.read(&expr.reads[read], point - element, tap);
                    let apart = if points.runs.is_some() { 0 } else { point };
                    let fetch = *known.entry((apart, at)).or_insert_with_key(|(_, at)| {
                        found.list.push(Fetch { read, point, tap: number, at: at.clone(), width });
                        found.list.len() - 1
                    });
                    found.list[fetch].point = found.list[fetch].point.min(point);
                    found.places.insert((read, point, number), (fetch, element));
                }
            }
        }
        found
    }

    /// Which load brings a read's value at a point and a tap, and which of its elements that is.
    pub fn place(&self, read: ReadId, point: usize, tap: usize) -> Option<(usize, usize)> {
        self.places.get(&(read, point, tap)).copied()
    }
}

/// Reads and guards in terms of the first point of a run, and of where loops stand.
pub struct Moved<'m> {
    /// What is computed.
    pub expr: &'m TensorExpr,
    /// How the points lie to one another, if they are neighbours.
    pub runs: Option<Runs>,
    /// The order of the reduction.
    pub walk: &'m Walk,
}

impl Moved<'_> {
    fn read(&self, read: &Read, point: usize, tap: &Tap) -> Read {
        let ranges = |axis: AxisId| self.range(axis);
        let moved = |index: &Index| index.substitute(&|axis| self.axis(axis, point, tap), &|read| read, &ranges);
        let index = read.index.iter().map(moved).collect();
        Read { index, guard: self.guard(&read.guard, point, tap), ..read.clone() }
    }

    /// A guard at a point and a tap, without the conditions that always hold there.
    pub fn guard(&self, guard: &Guard, point: usize, tap: &Tap) -> Guard {
        let ranges = |axis: AxisId| self.range(axis);
        let moved = |index: &Index| index.substitute(&|axis| self.axis(axis, point, tap), &|read| read, &ranges);
        let and = |guard: Guard, condition: &Condition| {
            guard.and(Condition { index: moved(&condition.index), ..condition.clone() }, &ranges)
        };
        guard.conditions().iter().fold(Guard::always(), and)
    }

    fn axis(&self, axis: AxisId, point: usize, tap: &Tap) -> Index {
        let along = |runs: &Runs| runs.axis == axis;
        if self.runs.as_ref().is_some_and(along) {
            return Index::axis(axis).plus(point as i64);
        }
        match tap.iter().find(|(other, _)| *other == axis) {
            Some(&(_, at)) if self.walk.is_rolled(axis) => Index::axis(axis).plus(at),
            Some(&(_, at)) => Index::constant(at),
            None => Index::axis(axis),
        }
    }

    /// The range of an axis at the first point of a run, at the first tap of a trip.
    fn range(&self, axis: AxisId) -> Range {
        let range = self.runs.map_or(self.expr.range(axis), |runs| runs.range(self.expr, axis));
        let step = self.walk.rolled.iter().find(|rolled| rolled.axis == axis).map_or(1, |rolled| rolled.step);
        Range { maximum: (range.maximum + 1 - step as i64).max(range.minimum), ..range }
    }
}
