//! The phases of a kernel at shared-memory level: staged values one after another, then what leaves the group.

use std::sync::Arc;

use warpweave_graph::expr::{AxisId, TensorExpr};

use crate::body::{GroupBody, Stage};
use crate::kernel::{Kernel, ScheduleParams};
use crate::template::Template;
use crate::template::block::{BlockSize, WARP};
use crate::template::staged::blocked;
use crate::template::staged::blocked::{Across, BlockedStep};
use crate::template::staged::matrices::{MatrixPhase, MatrixStep, PhaseSpan, Walk, WarpBlock};
use crate::template::staged::{STAGED_BYTES, StagedBox, StagedSpan, bytes};

/// Points of a tile of the staged template.
const STAGED_POINTS: std::ops::Range<usize> = 64..16_385;

/// The kernels of a body that stages values: tiles of up to 16,384 points, whole or a power of two along each axis, whose
/// staged values fit.
pub fn candidates(body: &Arc<GroupBody>) -> Vec<Kernel> {
    let params = tiles(body).into_iter().map(|tile| ScheduleParams { template: Template::Staged, tile });
    let kernels = params.map(|params| Kernel::unchecked(Arc::clone(body), params));
    let fits = |kernel: &Kernel| kernel.boxes().is_some_and(|boxes| bytes(body, boxes) <= STAGED_BYTES);
    kernels.filter(fits).collect()
}

/// Tiles of up to 16,384 points, whole or a power of two along each axis.
pub fn tiles(body: &GroupBody) -> Vec<Vec<usize>> {
    let mut tiles: Vec<Vec<usize>> = vec![Vec::new()];
    for extent in body.tile_extents() {
        let powers = [1, 4, 8, 16, 32, 64].into_iter().filter(|power| *power < extent);
        let choices: Vec<usize> = powers.chain([extent.max(1)]).collect();
        let longer = |tile: &Vec<usize>| {
            let tile = tile.clone();
            choices.clone().into_iter().map(move |choice| tile.iter().copied().chain([choice]).collect())
        };
        tiles = tiles.iter().flat_map(longer).collect();
    }
    let smallest = body.tile_extents().iter().product::<usize>().min(STAGED_POINTS.start);
    tiles.retain(|tile| (smallest..STAGED_POINTS.end).contains(&tile.iter().product()));
    tiles
}

/// How the block's threads share a phase's box.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// A thread an element, reductions one value after another.
    Thread,
    /// A warp an element, its reduction across lanes.
    Warp,
    /// A thread computes `rows × columns` elements of a sum of products, so that each factor is fetched once for several.
    Blocked {
        /// Rows a thread.
        rows: usize,
        /// Columns a thread.
        columns: usize,
        /// How threads lie.
        across: Across,
    },
    /// A warp computes a block of a sum of products of halves on tensor cores.
    Matrices(WarpBlock),
}

/// How a sum of products is computed, and what that takes.
#[derive(Clone, PartialEq, Debug)]
pub enum ProductStep {
    /// A block a thread.
    Blocked(BlockedStep),
    /// A block a warp, on tensor cores.
    Matrices(MatrixStep),
}

impl ProductStep {
    /// The method.
    pub fn method(&self) -> Method {
        match self {
            Self::Blocked(step) => Method::Blocked { rows: step.rows, columns: step.columns, across: step.across },
            Self::Matrices(step) => Method::Matrices(step.product.block),
        }
    }

    /// The cheaper of both.
    fn cheaper(blocked: Option<BlockedStep>, matrices: Option<MatrixStep>) -> Option<Self> {
        let cheaper = |step: &MatrixStep| blocked.is_none_or(|other| step.total() < other.trips as f64 * other.cycles);
        match matrices.filter(cheaper) {
            Some(step) => Some(Self::Matrices(step)),
            None => blocked.map(Self::Blocked),
        }
    }
}

/// A phase: what it computes, on which box, and where its values go.
#[derive(Clone, Copy)]
pub struct PhasePlace<'p> {
    /// What is computed.
    pub stage: &'p Stage,
    /// Its box, a span a parallel axis.
    pub spans: &'p [PhaseSpan],
    /// The boxes of staged values.
    pub boxes: &'p [StagedBox],
    /// Where its values go.
    pub sink: Sink,
}

impl PhasePlace<'_> {
    /// The extents of its box.
    pub fn extents(&self) -> Vec<usize> {
        self.spans.iter().map(|span| span.extent).collect()
    }

    /// The cheapest way to sum products, if the phase does so for more than one element.
    pub fn product(&self, block_size: BlockSize) -> Option<ProductStep> {
        let expr = &self.stage.expr;
        let blocked = blocked::step(expr, &self.extents(), self.sink.across(), block_size);
        ProductStep::cheaper(blocked, self.matrices(Walk::whole(expr)).cheapest(block_size))
    }

    /// The cheapest of those under which each thread, or each warp, keeps one block of sums while the reduction is walked in
    /// stretches.
    pub fn kept_product(&self, walk: Walk, block_size: BlockSize) -> Option<ProductStep> {
        let blocked = blocked::one_trip(&self.stage.expr, &self.extents(), block_size);
        ProductStep::cheaper(blocked, self.matrices(walk).cheapest_kept(block_size))
    }

    fn matrices(&self, walk: Walk) -> MatrixPhase<'_> {
        MatrixPhase { stage: self.stage, spans: self.spans, boxes: self.boxes, walk }
    }
}

/// Where a phase's values go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sink {
    /// Into a box of which all elements exist; a reduction across lanes needs that.
    Inside,
    /// Into a box that reaches over an edge.
    Windowed,
    /// Out of the group, neighbours together.
    Outputs,
}

impl Sink {
    /// How the threads of a blocked product may lie.
    pub fn across(self) -> &'static [Across] {
        match self {
            Self::Inside | Self::Windowed => &[Across::Columns, Across::Rows],
            Self::Outputs => &[Across::Columns],
        }
    }
}

/// The method of a phase.
pub fn method(place: PhasePlace<'_>, block_size: BlockSize) -> Method {
    match place.product(block_size) {
        Some(step) => step.method(),
        None if runs_across_lanes(&place.stage.expr, &place.extents(), place.sink, block_size) => Method::Warp,
        None => Method::Thread,
    }
}

/// Whether a warp an element takes fewer steps than a thread an element.
pub fn runs_across_lanes(expr: &TensorExpr, extents: &[usize], sink: Sink, block_size: BlockSize) -> bool {
    let points: usize = extents.iter().product();
    let length = reduction_length(expr);
    let one_by_one = points.div_ceil(block_size.threads()) * length;
    let across = points.div_ceil(block_size.warps()) * (length.div_ceil(WARP) + 12);
    expr.reducer.is_some() && sink == Sink::Inside && across < one_by_one
}

/// The methods of the phases of a staged kernel whose padding has been found: those of the staged values in order, and that of the lead of
/// what leaves the group.
pub fn methods(padded: &Kernel, boxes: &[StagedBox]) -> (Vec<Method>, Method) {
    let (body, grid, block_size) = (padded.body(), padded.grid(), padded.rules().block_size());
    let staged = body.staged.iter().zip(boxes).map(|(stage, spans)| {
        let sink = sink(spans, &grid);
        method(PhasePlace { stage, spans: &PhaseSpan::of_box(spans, &grid), boxes, sink }, block_size)
    });
    let spans = PhaseSpan::of_tile(padded.tile(), &grid);
    let lead = PhasePlace { stage: &body.stages[0], spans: &spans, boxes, sink: Sink::Outputs };
    (staged.collect(), method(lead, block_size))
}

/// Where a staged value's phase writes.
pub fn sink(spans: &[StagedSpan], grid: &[usize]) -> Sink {
    if spans.iter().all(|span| span.stays_inside(grid)) { Sink::Inside } else { Sink::Windowed }
}

/// Points of an expression's reduction.
pub fn reduction_length(expr: &TensorExpr) -> usize {
    expr.reduced().map(|axis: AxisId| expr.axes[axis].extent).product()
}
