//! The template at shared-memory level: phases one after another, each by its own method.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::AxisId;

use super::blocked::BlockedModel;
use super::evaluation::{Address, Evaluation, Lanes, WARP, combination};
use super::pointwise::{self, StageModel};
use super::tiles::{Tiles, decode, set};
use super::{KernelCounts, Sampling};
use crate::partition::body::{GroupBody, Stage};
use crate::partition::contraction::Contraction;
use crate::partition::params::{BLOCK_THREADS, BLOCK_WARPS, ScheduleParams};
use crate::partition::phase::{Method, method};
use crate::partition::staged::{StagedBox, boxes, extents};

/// What each phase of a staged group does, over all tiles: staged values in order, then what leaves the group.
///
/// # Panics
/// If the staged values have no box under these parameters.
pub fn phase_counts(body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> Vec<KernelCounts> {
    let boxes = boxes(body, params).expect("parameters are chosen so that every staged value has a box");
    let tiles = Tiles::new(body, params);
    let grid = params.grid(body);
    let mut phases = Vec::with_capacity(body.staged.len() + 1);
    for (stage, spans) in body.staged.iter().zip(&boxes) {
        let extents = extents(spans);
        let inside = spans.iter().all(|span| span.stays_inside(&grid));
        let method = method(&stage.expr, &extents, inside);
        let model = PhaseModel::new(stage, &boxes, method);
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(tiles.count(), sampling.tiles);
        for tile in picked {
            let coordinates = decode(&grid, tile);
            let first = spans.iter().map(|span| span.first_of(&coordinates)).collect();
            counts += model.counts(&PhaseBox { first, extents: extents.clone(), is_main: false }, sampling) * weight;
        }
        phases.push(counts);
    }
    phases.push(main_counts(body, params, &boxes, sampling));
    phases
}

/// What the phase does whose values leave the group.
fn main_counts(body: &GroupBody, params: &ScheduleParams, boxes: &[StagedBox], sampling: Sampling) -> KernelCounts {
    let lead = &body.stages[0];
    match method(&lead.expr, &params.tile, false) {
        Method::Blocked { rows, columns } if Contraction::of(body).is_some() => {
            let after = (0..body.stages.len()).map(|at| finish(&body.stages[at], boxes, Address::of_output(body, at)));
            let model = BlockedModel::new(lead, boxes, rows, columns, after.collect());
            let tiles = Tiles::new(body, params);
            let mut counts = KernelCounts::default();
            let (picked, weight) = Sampling::picks(tiles.count(), sampling.tiles);
            for tile in picked {
                let place = PhaseBox { first: tiles.origin(tile), extents: params.tile.clone(), is_main: true };
                counts += model.counts(&place, sampling) * weight;
            }
            counts
        }
        Method::Blocked { .. } | Method::Thread | Method::Warp => {
            let per_thread = params.tile.iter().product::<usize>().div_ceil(BLOCK_THREADS);
            pointwise::counts(body, params, boxes, per_thread, sampling)
        }
    }
}

/// What follows a stage's reduction, and where its value goes.
fn finish(stage: &Stage, boxes: &[StagedBox], output: Option<Address>) -> (Evaluation, Option<Address>) {
    let after = match (&stage.expr.reducer, &stage.expr.epilogue) {
        (Some(_), None) => Evaluation::nothing(),
        (Some(_), Some(after)) => Evaluation::new(stage, after, boxes),
        (None, _) => Evaluation::new(stage, &stage.expr.body, boxes),
    };
    (after, output)
}

/// The box of one phase in one tile.
pub(super) struct PhaseBox {
    /// The first coordinate along each parallel axis; negative where a window reaches over the edge.
    pub(super) first: Vec<i64>,
    pub(super) extents: Vec<usize>,
    /// Whether the values leave the group, so that elements beyond an edge are not finished.
    pub(super) is_main: bool,
}

impl PhaseBox {
    pub(super) fn points(&self) -> usize {
        self.extents.iter().product()
    }

    /// Sets the coordinates of the element at these positions of a stage's box, at the edge where it lies beyond it;
    /// whether it is finished.
    pub(super) fn place(&self, stage: &Stage, positions: &[(usize, usize)], point: &mut [i64]) -> bool {
        let mut real = true;
        let parallel: Vec<AxisId> = stage.expr.parallel().collect();
        for &(axis, position) in positions {
            let last = stage.expr.axes[parallel[axis]].extent as i64 - 1;
            let plain = self.first[axis] + position as i64;
            point[parallel[axis].index()] = plain.clamp(0, last);
            real &= !self.is_main || plain <= last;
        }
        real
    }

    fn place_number(&self, stage: &Stage, number: usize, point: &mut [i64]) {
        let positions: Vec<(usize, usize)> =
            decode(&self.extents, number).into_iter().map(|at| at as usize).enumerate().collect();
        self.place(stage, &positions, point);
    }
}

/// One phase of a staged value.
enum PhaseModel<'b> {
    Thread(&'b Stage, StageModel),
    Warp(WarpModel<'b>),
    Blocked(BlockedModel<'b>),
}

impl<'b> PhaseModel<'b> {
    fn new(stage: &'b Stage, boxes: &[StagedBox], method: Method) -> Self {
        match method {
            Method::Thread => Self::Thread(stage, StageModel::new(stage, boxes, None)),
            Method::Warp => Self::Warp(WarpModel::new(stage, boxes)),
            Method::Blocked { rows, columns } => {
                let after = finish(stage, boxes, None);
                Self::Blocked(BlockedModel::new(stage, boxes, rows, columns, vec![after]))
            }
        }
    }

    fn counts(&self, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
        match self {
            Self::Thread(stage, model) => threads(stage, model, place, sampling),
            Self::Warp(model) => model.counts(place, sampling),
            Self::Blocked(model) => model.counts(place, sampling),
        }
    }
}

/// A thread an element.
fn threads(stage: &Stage, model: &StageModel, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
    let mut lanes = Lanes::new(stage.expr.axes.len());
    let points = place.points();
    let mut counts = KernelCounts::default();
    let (picked, weight) = Sampling::picks(points.div_ceil(WARP), sampling.warps);
    for warp in picked {
        lanes.place(|lane, point| {
            let number = warp * WARP + lane;
            place.place_number(stage, number.min(points - 1), point);
            number < points
        });
        counts += model.counts(&mut lanes, sampling);
    }
    counts * weight
}

/// A warp an element, its reduction across lanes; warps beyond the last element repeat it.
struct WarpModel<'b> {
    stage: &'b Stage,
    reduced: Vec<(usize, usize)>,
    point: Evaluation,
    after: Evaluation,
    combination: usize,
}

impl<'b> WarpModel<'b> {
    fn new(stage: &'b Stage, boxes: &[StagedBox]) -> Self {
        let expr = &stage.expr;
        let combination = combination(expr);
        Self {
            reduced: expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect(),
            point: Evaluation::new(stage, &expr.body, boxes).and_operations(combination),
            after: finish(stage, boxes, None).0,
            stage,
            combination,
        }
    }

    fn counts(&self, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
        let length: usize = self.reduced.iter().map(|reduced| reduced.1).product();
        let points = place.points();
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(points.div_ceil(BLOCK_WARPS) * BLOCK_WARPS, sampling.warps);
        for number in picked {
            let (steps, of_step) = Sampling::picks(length.div_ceil(WARP), sampling.steps);
            for step in steps {
                lanes.place(|lane, point| {
                    place.place_number(self.stage, number.min(points - 1), point);
                    let at = step * WARP + lane;
                    set(&self.reduced, at, point);
                    at < length
                });
                counts += self.point.counts(&lanes) * (of_step * weight);
            }
            lanes.place(|_, point| {
                place.place_number(self.stage, number.min(points - 1), point);
                true
            });
            counts += self.after.counts(&lanes) * weight;
            let shuffled = (WARP.ilog2() as usize * WARP * self.combination) as f64;
            counts += KernelCounts { operations: shuffled * weight, ..KernelCounts::default() };
        }
        counts
    }
}
