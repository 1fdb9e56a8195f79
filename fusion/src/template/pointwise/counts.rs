//! The pointwise template: neighbouring threads on neighbouring points, reductions one value after another.

use std::collections::HashSet;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::ReadId;

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, WARP, combination, stored};
use crate::cost::counts::tiles::{Tiles, set};
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::pointwise::fetched::FetchedStage;
use warpweave_plan::body::Stage;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::pointwise::fetches::Points;
use warpweave_plan::template::pointwise::rules::names_places;
use warpweave_plan::template::pointwise::runs::Runs;
use warpweave_plan::template::staged::StagedBox;

/// The counts of a pointwise kernel.
pub(crate) fn kernel_counts(own: Pointwise, kernel: &Kernel, sampling: Sampling) -> KernelCounts {
    let body = kernel.body();
    let Some(sides) = side_by_side(own, kernel) else {
        return counts(kernel, &[], own.per_thread, sampling);
    };
    let runs = sides.runs;
    let tiles = Tiles::new(kernel);
    let numbered = runs.map_or_else(|| kernel.tile().to_vec(), |runs| runs.grid(kernel.tile()));
    let given = kernel.rules().block_size().warps() * if runs.is_some() { 1 } else { own.per_thread };
    let warps = given.min(warps_of(&numbered));
    let extents = body.tile_extents();
    let (picked, weight) = Sampling::picks(tiles.count(), sampling.tiles);
    let origins: Vec<Vec<i64>> = picked.map(|tile| tiles.origin(tile)).collect();
    let mut counts = KernelCounts::default();
    let mut known = HashSet::new();
    for stage in 0..body.stages.len() {
        let model = FetchedStage::new(body, stage, sides, &mut known);
        let mut lanes = Lanes::new(body.stages[stage].expr.axes.len());
        for origin in &origins {
            let (picked, weight) = Sampling::picks(warps, sampling.warps);
            let inside = |at: &[i64], axis: usize, further: i64| {
                let place = at[axis] + further;
                place < extents[axis] as i64 && place < origin[axis] + kernel.tile()[axis] as i64
            };
            let exists = |at: &[i64], point: usize| runs.is_none_or(|runs| inside(at, runs.axis.index(), point as i64));
            for warp in picked {
                lanes.place(|lane, point| place(origin, &numbered, &extents, runs, warp * WARP + lane, point));
                if lanes.count() > 0 {
                    counts += model.counts(&mut lanes, &exists, sampling) * weight;
                }
            }
        }
    }
    counts * weight
}

/// The points that a thread computes side by side; `None` where it computes one after another.
pub(crate) fn side_by_side(own: Pointwise, kernel: &Kernel) -> Option<Points> {
    if let Some(runs) = Runs::of(own, kernel) {
        return Some(Points { count: runs.length, runs: Some(runs) });
    }
    let one_by_one = !names_places(kernel.body()) || own.per_thread > 1 && kernel.body().reductions().count() > 0;
    (!one_by_one).then_some(Points { count: 1, runs: None })
}

/// Warps among whose lanes the points of a tile are dealt out: others have none, and stand for none that have.
fn warps_of(numbered: &[usize]) -> usize {
    numbered.iter().product::<usize>().div_ceil(WARP)
}

/// Sets the coordinates of the point, or the first of the run, with this number in a tile; whether it exists.
fn place(
    origin: &[i64],
    numbered: &[usize],
    extents: &[usize],
    runs: Option<Runs>,
    number: usize,
    point: &mut [i64],
) -> bool {
    let mut rest = number;
    let mut inside = true;
    for axis in (0..numbered.len()).rev() {
        let length = runs.filter(|runs| runs.axis.index() == axis).map_or(1, |runs| runs.length);
        point[axis] = origin[axis] + (rest % numbered[axis] * length) as i64;
        rest /= numbered[axis];
        inside &= point[axis] < extents[axis] as i64;
    }
    inside && rest == 0
}

/// The counts of `per_thread` points a thread, one after another; staged values are in these boxes.
pub(crate) fn counts(kernel: &Kernel, boxes: &[StagedBox], per_thread: usize, sampling: Sampling) -> KernelCounts {
    let body = kernel.body();
    let tiles = Tiles::new(kernel);
    let warps = (per_thread * kernel.rules().block_size().warps()).min(warps_of(kernel.tile()));
    let axes: Vec<usize> = (0..body.tile_rank).collect();
    let mut counts = KernelCounts::default();
    let (picked, weight) = Sampling::picks(tiles.count(), sampling.tiles);
    let origins: Vec<Vec<i64>> = picked.map(|tile| tiles.origin(tile)).collect();
    for stage in 0..body.stages.len() {
        let model = StageModel::new(&body.stages[stage], boxes, Address::of_output(body, stage));
        let mut lanes = Lanes::new(body.stages[stage].expr.axes.len());
        for origin in &origins {
            let (picked, weight) = Sampling::picks(warps, sampling.warps);
            let mut of_warps = KernelCounts::default();
            for warp in picked {
                lanes.place(|lane, point| tiles.place(origin, &axes, warp * WARP + lane, point));
                if lanes.count() > 0 {
                    of_warps += model.counts(&mut lanes, sampling);
                }
            }
            counts += of_warps * weight;
        }
    }
    counts * weight
}

/// One stage, a thread an element: what a point of its reduction costs, what follows, and where the value goes.
pub(crate) struct StageModel {
    reduced: Vec<(usize, usize)>,
    /// The elements that name the same places at all points of a reduction.
    places: Evaluation,
    inner: Option<Evaluation>,
    outer: Option<Evaluation>,
    output: Option<Address>,
}

impl StageModel {
    pub(crate) fn new(stage: &Stage, boxes: &[StagedBox], output: Option<Address>) -> Self {
        let expr = &stage.expr;
        let fixed: Vec<ReadId> = match expr.reducer {
            Some(_) if boxes.is_empty() => {
                expr.indirect_indices_by_reduction().0.into_iter().map(|place| place.read).collect()
            }
            Some(_) | None => Vec::new(),
        };
        let evaluation = Evaluation::without(stage, &expr.body, boxes, &fixed);
        let places = Evaluation::of_reads(stage, boxes, fixed);
        let epilogue = expr.epilogue.as_ref().map(|epilogue| Evaluation::new(stage, epilogue, boxes));
        let (inner, outer) = match expr.reducer {
            Some(_) => (Some(evaluation.and_operations(combination(expr))), epilogue),
            None => (None, epilogue.or(Some(evaluation))),
        };
        let reduced = expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect();
        Self { reduced, places, inner, outer, output }
    }

    /// What a warp's active lanes do.
    pub(crate) fn counts(&self, lanes: &mut Lanes, sampling: Sampling) -> KernelCounts {
        let mut counts = self.places.counts(lanes);
        if let Some(inner) = &self.inner {
            let points = self.reduced.iter().map(|reduced| reduced.1).product();
            let (picked, weight) = Sampling::picks(points, sampling.steps.saturating_mul(2));
            let mut of_points = KernelCounts::default();
            for number in picked {
                lanes.each(|point| set(&self.reduced, number, point));
                of_points += inner.counts(lanes);
            }
            counts += of_points * weight;
        }
        if let Some(outer) = &self.outer {
            counts += outer.counts(lanes);
        }
        if let Some(output) = &self.output {
            counts += stored(output, lanes, 1);
        }
        counts
    }
}
