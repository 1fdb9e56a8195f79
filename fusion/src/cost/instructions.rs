//! Instructions and latencies that estimates of all templates count alike.

use warpweave_graph::expr::TensorExpr;

/// Cycles that a meeting of a block's threads takes.
pub(crate) const BARRIER_CYCLES: f64 = 20.0;

/// Cycles from the last product of a row to its sum in every lane.
pub(crate) const COMBINE_LATENCY: f64 = 150.0;

/// Instructions a point, index arithmetic included.
pub(crate) fn work(expr: &TensorExpr) -> f64 {
    let reads =
        expr.reads.values().map(|read| 2.0 + read.index.len() as f64 + 2.0 * read.guard.conditions().len() as f64);
    expr.body.operations() as f64 + 1.0 + reads.sum::<f64>()
}
