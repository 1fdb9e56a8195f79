//! Points that a thread computes side by side: every element that several need is fetched once.

use std::collections::{BTreeMap, HashSet};

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{ReadId, Scalar};
use warpweave_plan::body::{GroupBody, Stage};
use warpweave_plan::template::pointwise::fetches::{Fetch, Fetches, Points, SharedFetch};
use warpweave_plan::template::pointwise::runs::{Runs, VECTOR};
use warpweave_plan::template::pointwise::walk::Walk;
use warpweave_plan::template::staged::blocked::dense;

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, combination, element_of_output, stored};
use crate::cost::counts::operations::float_operations;
use crate::cost::counts::{KernelCounts, Sampling};

/// Loads of a read that are followed where a sampling follows one step.
const FETCHES_A_STEP: usize = 2;

/// One stage as the threads of a warp compute it.
pub(crate) struct FetchedStage {
    points: Points,
    /// Loops: axis, trips and points of a trip.
    rolled: Vec<(usize, usize, usize)>,
    taps: usize,
    inner: Option<Part>,
    outer: Option<Part>,
    /// The loads of the places that reads name.
    places: Evaluation,
    output: Option<(Address, usize)>,
}

/// The loads and operations of one scalar.
pub(crate) struct Part {
    /// Of every read its loads, each with the first point that needs it and its width.
    reads: Vec<Vec<(Address, usize, usize)>>,
    operations: usize,
}

impl Part {
    /// `is_new` says of a load that no earlier stage has made it.
    fn new(
        stage: &Stage,
        scalar: &Scalar,
        points: Points,
        walk: &Walk,
        mut is_new: impl FnMut(&Fetch) -> bool,
    ) -> Self {
        let is_wide = |read: ReadId| {
            let read = &stage.expr.reads[read];
            let single = stage.expr.operands[read.operand].element.is_single();
            single && points.runs.is_some_and(|runs| runs.is_wide(&stage.expr, &dense(&stage.expr, read)))
        };
        let mut reads: BTreeMap<ReadId, Vec<(Address, usize, usize)>> = BTreeMap::new();
        for fetch in Fetches::of(stage, scalar, points, walk, &is_wide).list.into_iter().filter(|fetch| is_new(fetch)) {
            let load = (Address::of_read(&stage.expr, &fetch.at), fetch.point, fetch.width);
            reads.entry(fetch.read).or_default().push(load);
        }
        let operations = float_operations(&stage.expr, scalar);
        Self { reads: reads.into_values().collect(), operations }
    }

    fn counts(&self, lanes: &Lanes, exists: &impl Fn(&[i64], usize) -> bool, sampling: Sampling) -> KernelCounts {
        let mut counts = KernelCounts::default();
        for loads in &self.reads {
            let (picked, weight) = Sampling::picks(loads.len(), sampling.steps.saturating_mul(FETCHES_A_STEP));
            for number in picked {
                let (address, point, width) = &loads[number];
                let touched = match point {
                    0 => address.sectors(lanes, *width),
                    _ => address.sectors(&lanes.retained(|at| exists(at, *point)), *width),
                };
                let guarded_loads = if address.is_guarded() { 1.0 } else { 0.0 };
                counts += KernelCounts { guarded_loads, ..touched.loaded(*width) } * weight;
            }
        }
        counts
    }
}

impl FetchedStage {
    /// A stage of a body; `known` are the loads of the stages before it, and become those of this one too.
    pub(crate) fn new(body: &GroupBody, stage: usize, points: Points, known: &mut HashSet<SharedFetch>) -> Self {
        let own = &body.stages[stage];
        let expr = &own.expr;
        let walk = Walk::of(expr, points.count);
        let is_new = |fetch: &Fetch| fetch.shared(body, stage).is_none_or(|shared| known.insert(shared));
        let once = |scalar: &Scalar| Part::new(own, scalar, points, &Walk::default(), is_new);
        let (inner, outer) = match expr.reducer {
            Some(_) => {
                let mut inner = Part::new(own, &expr.body, points, &walk, |_| true);
                inner.operations += combination(expr);
                (Some(inner), expr.epilogue.as_ref().map(once))
            }
            None => (None, Some(once(expr.epilogue.as_ref().unwrap_or(&expr.body)))),
        };
        let wide = |runs: Runs| {
            let place = element_of_output(body, stage);
            place.is_some_and(|place| expr.element.is_single() && runs.is_wide(expr, &place))
        };
        let width = if points.runs.is_some_and(wide) { VECTOR } else { 1 };
        Self {
            points,
            rolled: walk.rolled.iter().map(|rolled| (rolled.axis.index(), rolled.trips, rolled.step)).collect(),
            taps: walk.written.iter().map(|written| written.points).product(),
            inner,
            outer,
            places: Evaluation::of_reads(own, &[], expr.indirect_indices().into_iter().map(|place| place.read)),
            output: Address::of_output(body, stage).map(|output| (output, width)),
        }
    }

    /// What a warp does whose active lanes stand at their first points; `exists` says of a point of a lane that it is there.
    pub(crate) fn counts(
        &self,
        lanes: &mut Lanes,
        exists: &impl Fn(&[i64], usize) -> bool,
        sampling: Sampling,
    ) -> KernelCounts {
        let mut counts = self.places.loads(lanes, 1);
        let computed = (lanes.count() * self.points.count) as f64;
        if let Some(inner) = &self.inner {
            let trips: usize = self.rolled.iter().map(|rolled| rolled.1).product();
            let (picked, weight) = Sampling::picks(trips, sampling.steps);
            for number in picked {
                lanes.each(|point| self.stand(number, point));
                counts += inner.counts(lanes, exists, sampling) * weight;
            }
            counts.operations += computed * (trips * self.taps * inner.operations) as f64;
        }
        if let Some(outer) = &self.outer {
            counts += outer.counts(lanes, exists, sampling);
            counts.operations += computed * outer.operations as f64;
        }
        if let Some((output, width)) = &self.output {
            for point in (0..self.points.count).step_by(*width) {
                let mut there = lanes.retained(|at| exists(at, point));
                if let Some(runs) = self.points.runs {
                    there.each(|at| at[runs.axis.index()] += point as i64);
                }
                counts += stored(output, &there, *width);
            }
        }
        counts
    }

    /// Sets the coordinates that the loops give in a trip.
    fn stand(&self, trip: usize, point: &mut [i64]) {
        let mut rest = trip;
        for &(axis, trips, step) in self.rolled.iter().rev() {
            point[axis] = ((rest % trips.max(1)) * step) as i64;
            rest /= trips.max(1);
        }
    }
}
