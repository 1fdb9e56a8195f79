//! The template at shared-memory level: phases one after another, each by its own method.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::AxisId;

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, WARP, combination};
use crate::cost::counts::tiles::{Tiles, decode, set};
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::pointwise::counts as pointwise;
use crate::template::pointwise::counts::StageModel;
use crate::template::staged::blocked::{BlockSides, BlockedModel};
use crate::template::staged::matrices::MatrixModel;
use warpweave_plan::body::{GroupBody, Stage};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::block::BlockSize;
use warpweave_plan::template::staged::matrices::{PhaseSpan, Walk, WarpBlock};
use warpweave_plan::template::staged::padded::PaddedBody;
use warpweave_plan::template::staged::phase::{Method, methods};
use warpweave_plan::template::staged::{StagedBox, extents};

/// What each phase of a staged group does, over all tiles: staged values in order, then what leaves the group.
///
/// # Panics
/// If the staged values have no box under these parameters.
pub fn phase_counts(kernel: &Kernel, sampling: Sampling) -> Vec<KernelCounts> {
    let boxes = kernel.boxes().expect("parameters are chosen so that every staged value has a box");
    let kernel = &kernel.with_body(PaddedBody::of(kernel.shared_body()).body);
    let (methods, lead) = methods(kernel, boxes);
    let body = kernel.body();
    let staged = methods.into_iter().enumerate();
    let staged = staged.map(|(position, method)| {
        let spans = PhaseSpan::of_box(&boxes[position], &kernel.grid());
        let model = PhaseModel::new(&body.staged[position], (&spans, boxes), method, kernel.rules().block_size());
        box_counts(kernel, &boxes[position], &body.staged[position], sampling, &|place| model.counts(place, sampling))
    });
    let main = main_counts(kernel, boxes, lead, sampling);
    staged.collect::<Vec<_>>().into_iter().chain([main]).collect()
}

/// What is done on the box of a staged value, over all tiles.
pub(crate) fn box_counts(
    kernel: &Kernel,
    spans: &StagedBox,
    stage: &Stage,
    sampling: Sampling,
    of_box: &dyn Fn(&PhaseBox) -> KernelCounts,
) -> KernelCounts {
    let grid = kernel.grid();
    let mut counts = KernelCounts::default();
    let (picked, weight) = Sampling::picks(Tiles::new(kernel).count(), sampling.tiles);
    for tile in picked {
        let coordinates = decode(&grid, tile);
        let first = spans.iter().map(|span| span.first_of(&coordinates)).collect();
        counts += of_box(&PhaseBox::new(stage, first, extents(spans), Values::Stay)) * weight;
    }
    counts
}

/// What the phase does whose values leave the group.
fn main_counts(kernel: &Kernel, boxes: &[StagedBox], method: Method, sampling: Sampling) -> KernelCounts {
    let block_size = kernel.rules().block_size();
    match method {
        Method::Blocked { rows, columns, across } if kernel.contraction().is_some() => {
            let model = lead_model(kernel.body(), boxes, BlockSides { rows, columns, across, block_size, again: true });
            lead_counts(kernel, sampling, &|place| model.counts(place, sampling))
        }
        Method::Matrices(block) if kernel.contraction().is_some() => {
            let model = lead_matrices(kernel, boxes, (block, Walk::whole(&kernel.body().stages[0].expr)));
            lead_counts(kernel, sampling, &|place| model.counts(place, sampling))
        }
        Method::Blocked { .. } | Method::Matrices(_) | Method::Thread | Method::Warp => {
            let per_thread = kernel.tile().iter().product::<usize>().div_ceil(block_size.threads());
            pointwise::counts(kernel, boxes, per_thread, sampling)
        }
    }
}

/// The first stage by blocks a thread, with what follows it.
pub(crate) fn lead_model<'b>(body: &'b GroupBody, boxes: &[StagedBox], sides: BlockSides) -> BlockedModel<'b> {
    BlockedModel::new(&body.stages[0], boxes, sides, finishes(body, boxes))
}

/// The first stage by blocks a warp, with what follows it.
pub(crate) fn lead_matrices<'b>(kernel: &'b Kernel, boxes: &[StagedBox], way: (WarpBlock, Walk)) -> MatrixModel<'b> {
    let spans = PhaseSpan::of_tile(kernel.tile(), &kernel.grid());
    MatrixModel::new(&kernel.body().stages[0], (&spans, boxes), way, finishes(kernel.body(), boxes))
}

fn finishes(body: &GroupBody, boxes: &[StagedBox]) -> Vec<(Evaluation, Option<Address>)> {
    (0..body.stages.len()).map(|at| finish(&body.stages[at], boxes, Address::of_output(body, at))).collect()
}

/// What is done on the box of what leaves the group, over all tiles.
pub(crate) fn lead_counts(
    kernel: &Kernel,
    sampling: Sampling,
    of_box: &dyn Fn(&PhaseBox) -> KernelCounts,
) -> KernelCounts {
    let tiles = Tiles::new(kernel);
    let mut counts = KernelCounts::default();
    let (picked, weight) = Sampling::picks(tiles.count(), sampling.tiles);
    for tile in picked {
        let place = PhaseBox::new(&kernel.body().stages[0], tiles.origin(tile), kernel.tile().to_vec(), Values::Leave);
        counts += of_box(&place) * weight;
    }
    counts
}

/// What follows a stage's reduction, and where its value goes.
pub(crate) fn finish(stage: &Stage, boxes: &[StagedBox], output: Option<Address>) -> (Evaluation, Option<Address>) {
    let after = match (&stage.expr.reducer, &stage.expr.epilogue) {
        (Some(_), None) => Evaluation::nothing(),
        (Some(_), Some(after)) => Evaluation::new(stage, after, boxes),
        (None, _) => Evaluation::new(stage, &stage.expr.body, boxes),
    };
    (after, output)
}

/// The box of one phase in one tile.
#[derive(Clone)]
pub(crate) struct PhaseBox {
    /// Per parallel axis, its number in the expression and its largest coordinate.
    axes: Vec<(usize, i64)>,
    /// The first coordinate along each parallel axis; negative where a window reaches over the edge.
    first: Vec<i64>,
    pub(crate) extents: Vec<usize>,
    values: Values,
}

/// Where a phase's values go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// Into a box, padding included.
    Stay,
    /// Out of the group; elements beyond an edge do not exist.
    Leave,
}

impl PhaseBox {
    pub(crate) fn new(stage: &Stage, first: Vec<i64>, extents: Vec<usize>, values: Values) -> Self {
        let axis = |axis: AxisId| (axis.index(), stage.expr.axes[axis].extent as i64 - 1);
        Self { axes: stage.expr.parallel().map(axis).collect(), first, extents, values }
    }

    /// The box with another start along a parallel axis.
    pub(crate) fn starting(&self, axis: usize, first: i64) -> Self {
        let mut moved = self.clone();
        moved.first[axis] = first;
        moved
    }

    /// The first coordinate along a parallel axis.
    pub(crate) fn first(&self, axis: usize) -> i64 {
        self.first[axis]
    }

    /// The number of elements along some of the parallel axes.
    pub(crate) fn points(&self, axes: &[usize]) -> usize {
        axes.iter().map(|&axis| self.extents[axis]).product()
    }

    /// Sets the coordinates along these parallel axes of the element with this number in their box, at the edge where it
    /// lies beyond it; whether it is stored.
    pub(crate) fn place(&self, axes: &[usize], number: usize, point: &mut [i64]) -> bool {
        let mut rest = number;
        let mut real = true;
        for &axis in axes.iter().rev() {
            let plain = self.first[axis] + (rest % self.extents[axis]) as i64;
            rest /= self.extents[axis];
            let (at, last) = self.axes[axis];
            point[at] = plain.clamp(0, last);
            real &= self.values == Values::Stay || plain <= last;
        }
        real
    }

    fn all(&self) -> Vec<usize> {
        (0..self.extents.len()).collect()
    }
}

/// One phase of a staged value.
pub(crate) enum PhaseModel<'b> {
    Thread(&'b Stage, StageModel),
    Warp(WarpModel<'b>),
    Blocked(Box<BlockedModel<'b>>),
    Matrices(Box<MatrixModel<'b>>),
}

impl<'b> PhaseModel<'b> {
    pub(crate) fn new(
        stage: &'b Stage,
        (spans, boxes): (&[PhaseSpan], &[StagedBox]),
        method: Method,
        block_size: BlockSize,
    ) -> Self {
        match method {
            Method::Thread => Self::Thread(stage, StageModel::new(stage, boxes, None)),
            Method::Warp => Self::Warp(WarpModel::new(stage, boxes, block_size)),
            Method::Blocked { rows, columns, across } => {
                let after = finish(stage, boxes, None);
                let sides = BlockSides { rows, columns, across, block_size, again: true };
                Self::Blocked(Box::new(BlockedModel::new(stage, boxes, sides, vec![after])))
            }
            Method::Matrices(block) => {
                let (after, walk) = (finish(stage, boxes, None), Walk::whole(&stage.expr));
                let model = MatrixModel::new(stage, (spans, boxes), (block, walk), vec![after]);
                Self::Matrices(Box::new(model))
            }
        }
    }

    pub(crate) fn counts(&self, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
        match self {
            Self::Thread(stage, model) => threads(stage, model, place, sampling),
            Self::Warp(model) => model.counts(place, sampling),
            Self::Blocked(model) => model.counts(place, sampling),
            Self::Matrices(model) => model.counts(place, sampling),
        }
    }
}

/// A thread an element.
fn threads(stage: &Stage, model: &StageModel, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
    let mut lanes = Lanes::new(stage.expr.axes.len());
    let axes = place.all();
    let points = place.points(&axes);
    let mut counts = KernelCounts::default();
    let (picked, weight) = Sampling::picks(points.div_ceil(WARP), sampling.warps);
    for warp in picked {
        lanes.place(|lane, point| {
            let number = warp * WARP + lane;
            place.place(&axes, number.min(points - 1), point);
            number < points
        });
        counts += model.counts(&mut lanes, sampling);
    }
    counts * weight
}

/// A warp an element, its reduction across lanes; warps beyond the last element repeat it.
pub(crate) struct WarpModel<'b> {
    stage: &'b Stage,
    reduced: Vec<(usize, usize)>,
    point: Evaluation,
    after: Evaluation,
    combination: usize,
    block_size: BlockSize,
}

impl<'b> WarpModel<'b> {
    fn new(stage: &'b Stage, boxes: &[StagedBox], block_size: BlockSize) -> Self {
        let expr = &stage.expr;
        let combination = combination(expr);
        Self {
            reduced: expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect(),
            point: Evaluation::new(stage, &expr.body, boxes).and_operations(combination),
            after: finish(stage, boxes, None).0,
            stage,
            combination,
            block_size,
        }
    }

    fn counts(&self, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
        let length: usize = self.reduced.iter().map(|reduced| reduced.1).product();
        let axes = place.all();
        let points = place.points(&axes);
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(points.next_multiple_of(self.block_size.warps()), sampling.warps);
        for number in picked {
            let (steps, of_step) = Sampling::picks(length.div_ceil(WARP), sampling.steps);
            for step in steps {
                lanes.place(|lane, point| {
                    place.place(&axes, number.min(points - 1), point);
                    let at = step * WARP + lane;
                    set(&self.reduced, at, point);
                    at < length
                });
                counts += self.point.counts(&lanes) * (of_step * weight);
            }
            lanes.place(|_, point| {
                place.place(&axes, number.min(points - 1), point);
                true
            });
            counts += self.after.counts(&lanes) * weight;
            let shuffled = (WARP.ilog2() as usize * WARP * self.combination) as f64;
            counts += KernelCounts { operations: shuffled * weight, ..KernelCounts::default() };
        }
        counts
    }
}
