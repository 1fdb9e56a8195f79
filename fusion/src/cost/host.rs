//! What a group costs on the host back end.

use crate::template::candidates::{candidates, large_candidates};
use crate::template::contraction::host_tiles::host_tiles;
use crate::template::pricing;
use warpweave_graph::expr::TensorExpr;
use warpweave_graph::program::TensorProgram;

use crate::cost::KernelCost;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::staged::{boxes, extents};
use warpweave_plan::template::tile::ScheduleParams;

/// Costs of the host back end: contractions are native matrix products after packing, everything else is instructions over
/// registers of neighbouring points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCost {
    /// Threads that share the rTasks.
    pub threads: usize,
}

/// Scalar operations a microsecond of the vector engine.
pub(crate) const OPERATIONS: f64 = 5000.0;
/// Multiply-adds a microsecond of panels of singles, in vectors of 256 bits.
pub(crate) const MULTIPLY_ADDS: f64 = 40_000.0;
/// Elements a microsecond that are packed into panels as they lie in memory.
pub(crate) const PACKED: f64 = 2_500.0;
/// Scalar operations a microsecond on elements that are computed before they are packed.
pub(crate) const COMPUTED: f64 = 300.0;
/// Rows and columns that panels of 256 bits have.
pub(crate) const PANELS: [usize; 2] = [6, 16];
/// Microseconds of a task beyond its work.
pub(crate) const TASK: f64 = 1.0;

impl KernelCost for HostCost {
    fn microseconds(&self, _: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let waves = params.tiles(body).div_ceil(self.threads) as f64;
        waves * self.task_microseconds(body, params)
    }

    fn task_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        pricing(&params.template).host_microseconds(body, params)
    }

    fn best(&self, program: &TensorProgram, body: &GroupBody) -> Option<(ScheduleParams, f64)> {
        let priced = candidates(body).into_iter().chain(large_candidates(body)).chain(host_tiles(body)).map(|params| {
            let time = self.microseconds(program, body, &params);
            (params, time)
        });
        priced.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn shared_bytes_per_block(&self) -> usize {
        0
    }
}

/// Microseconds of a tile all of whose stages the vector engine evaluates.
pub(crate) fn evaluated(body: &GroupBody, params: &ScheduleParams) -> f64 {
    TASK + evaluations(body, params) / OPERATIONS
}

/// The same where staged values are evaluated on their boxes first.
pub(crate) fn evaluated_in_boxes(body: &GroupBody, params: &ScheduleParams) -> f64 {
    let Some(boxes) = boxes(body, params) else { return f64::INFINITY };
    let staged = body.staged.iter().zip(&boxes).map(|(stage, staged)| {
        let reduced = stage.expr.reduced().map(|axis| stage.expr.axes[axis].extent);
        let points: usize = extents(staged).into_iter().chain(reduced).product();
        points as f64 * operations(&stage.expr)
    });
    TASK + (evaluations(body, params) + staged.sum::<f64>()) / OPERATIONS
}

/// Scalar operations of the stages of a tile.
fn evaluations(body: &GroupBody, params: &ScheduleParams) -> f64 {
    let points: f64 = params.tile.iter().map(|&extent| extent as f64).product();
    let stages = body.stages.iter().map(|stage| {
        let own = stage.expr.axes.values().skip(body.tile_rank).map(|axis| axis.extent as f64);
        points * own.product::<f64>() * operations(&stage.expr)
    });
    stages.sum()
}

/// Scalar operations a point.
pub(crate) fn operations(expr: &TensorExpr) -> f64 {
    (expr.body.operations() + expr.reads.len()) as f64
}
