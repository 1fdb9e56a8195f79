//! The phases of a kernel at shared-memory level: staged values one after another, then what leaves the group.

use std::sync::Arc;

use warpweave_graph::expr::{AxisId, TensorExpr};

use crate::body::GroupBody;
use crate::kernel::{Kernel, ScheduleParams};
use crate::template::Template;
use crate::template::block::{BlockSize, WARP};
use crate::template::staged::blocked;
use crate::template::staged::blocked::Across;
use crate::template::staged::{STAGED_BYTES, StagedBox, StagedSpan, bytes, extents};

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

/// The method of a phase in which a block computes an expression on a box with one extent a parallel axis.
pub fn method(expr: &TensorExpr, extents: &[usize], sink: Sink, block_size: BlockSize) -> Method {
    match blocked::step(expr, extents, sink.across(), block_size) {
        Some(step) => Method::Blocked { rows: step.rows, columns: step.columns, across: step.across },
        None if runs_across_lanes(expr, extents, sink, block_size) => Method::Warp,
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
    let staged = body
        .staged
        .iter()
        .zip(boxes)
        .map(|(stage, spans)| method(&stage.expr, &extents(spans), sink(spans, &grid), block_size));
    (staged.collect(), method(&body.stages[0].expr, padded.tile(), Sink::Outputs, block_size))
}

/// Where a staged value's phase writes.
pub fn sink(spans: &[StagedSpan], grid: &[usize]) -> Sink {
    if spans.iter().all(|span| span.stays_inside(grid)) { Sink::Inside } else { Sink::Windowed }
}

/// Points of an expression's reduction.
pub fn reduction_length(expr: &TensorExpr) -> usize {
    expr.reduced().map(|axis: AxisId| expr.axes[axis].extent).product()
}
