//! The phases of a kernel at shared-memory level: staged values one after another, then what leaves the group.

use warpweave_graph::expr::{AxisId, TensorExpr};

use super::arch::GpuArch;
use super::body::GroupBody;
use super::contraction::{AxisClass, Contraction};
use super::cost::work;
use super::params::{BLOCK_THREADS, BLOCK_WARPS, ScheduleParams};
use super::staged::{StagedBox, boxes, extents};

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
    },
}

/// The method of a phase that computes an expression on a box with one extent a parallel axis. `inside` says that every
/// element of the box exists; a reduction across lanes needs that.
pub fn method(expr: &TensorExpr, extents: &[usize], inside: bool) -> Method {
    let points: usize = extents.iter().product();
    let length = reduction_length(expr);
    if let Some(sides) = Sides::of(expr, extents)
        && sides.rows * sides.columns > 1
    {
        return sides.method();
    }
    let one_by_one = points.div_ceil(BLOCK_THREADS) * length;
    let across = points.div_ceil(BLOCK_WARPS) * (length.div_ceil(32) + 12);
    if expr.reducer.is_some() && inside && across < one_by_one { Method::Warp } else { Method::Thread }
}

/// Extents of a contraction's box by class of axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sides {
    /// Points of the batch axes.
    pub batch: usize,
    /// Points of the row axes.
    pub rows: usize,
    /// Points of the column axes.
    pub columns: usize,
}

impl Sides {
    /// The sides of a box, if the expression is a contraction.
    pub fn of(expr: &TensorExpr, extents: &[usize]) -> Option<Self> {
        let contraction = Contraction::of_expression(expr)?;
        let side = |class: AxisClass| -> usize {
            let own = expr.parallel().zip(extents);
            own.filter(|(axis, _)| contraction.class(*axis) == class).map(|(_, extent)| extent).product()
        };
        Some(Self { batch: side(AxisClass::Batch), rows: side(AxisClass::Row), columns: side(AxisClass::Column) })
    }

    /// Blocks of `rows × columns` elements that a box has.
    pub fn blocks(self, rows: usize, columns: usize) -> usize {
        self.batch * self.rows.div_ceil(rows) * self.columns.div_ceil(columns)
    }

    /// The block with the fewest instructions for the box: those of one step are `rows · columns` products and a fetch a
    /// row and a column.
    fn method(self) -> Method {
        let price = |(rows, columns): &(usize, usize)| {
            self.blocks(*rows, *columns).div_ceil(BLOCK_THREADS) * step_instructions(*rows, *columns)
        };
        let choices = [(4, 4), (4, 2), (2, 4), (2, 2), (4, 1), (1, 4), (2, 1), (1, 2), (1, 1)];
        let (rows, columns) = choices.into_iter().min_by_key(price).expect("there are choices");
        Method::Blocked { rows, columns }
    }
}

fn step_instructions(rows: usize, columns: usize) -> usize {
    rows * columns + 4 * (rows + columns)
}

fn reduction_length(expr: &TensorExpr) -> usize {
    expr.reduced().map(|axis: AxisId| expr.axes[axis].extent).product()
}

/// Cycles of one tile of a staged body on a multiprocessor of its own, fetching from outside included; infinite where the
/// staged values have no box.
pub fn staged_tile_cycles(body: &GroupBody, params: &ScheduleParams, arch: &GpuArch) -> f64 {
    let Some(boxes) = boxes(body, params) else { return f64::INFINITY };
    let grid = params.grid(body);
    let staged = body.staged.iter().zip(&boxes).map(|(stage, staged): (_, &StagedBox)| {
        let inside = staged.iter().all(|span| span.stays_inside(&grid));
        phase_cycles(&stage.expr, &extents(staged), inside, arch)
    });
    let main = body.stages.iter().map(|stage| phase_cycles(&stage.expr, &params.tile, false, arch));
    staged.chain(main).sum()
}

/// Cycles of one phase: the instructions of the busiest scheduler, no faster than one load after another allows.
fn phase_cycles(expr: &TensorExpr, extents: &[usize], inside: bool, arch: &GpuArch) -> f64 {
    let latency = arch.load_latency_cycles.value;
    let points: usize = extents.iter().product();
    let length = reduction_length(expr) as f64;
    let schedulers = 4.0;
    let warps = |busy_threads: usize| (busy_threads.min(BLOCK_THREADS).div_ceil(32) as f64 / schedulers).ceil();
    let steps = match method(expr, extents, inside) {
        Method::Thread => {
            let trips = points.div_ceil(BLOCK_THREADS) as f64;
            trips * length * (warps(points) * work(expr)).max(latency / 8.0)
        }
        Method::Warp => {
            let trips = points.div_ceil(BLOCK_WARPS) as f64;
            trips * ((length / 32.0).ceil() * (2.0 * work(expr)).max(latency / 8.0) + 150.0)
        }
        Method::Blocked { rows, columns } => {
            let blocks = Sides::of(expr, extents).map_or(1, |sides| sides.blocks(rows, columns));
            let trips = blocks.div_ceil(BLOCK_THREADS) as f64;
            let products = (rows * columns) as f64;
            let fetches = (rows + columns) as f64 * work(expr) / 2.0;
            trips * length * (warps(blocks) * (products + fetches)).max(latency / 4.0)
        }
    };
    latency + steps
}
