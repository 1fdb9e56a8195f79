//! What a group costs on the host back end.

use warpweave_graph::expr::TensorExpr;
use warpweave_graph::program::TensorProgram;

use crate::cost::KernelCost;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::opaque::row_work;
use warpweave_plan::template::staged::{boxes, extents};
use warpweave_plan::template::{ScheduleParams, Template};

/// Costs of the host back end's evaluator: contractions are native matrix products after packing, everything else is
/// evaluated a few lanes at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCost {
    /// Threads that share the rTasks.
    pub threads: usize,
}

/// Scalar operations a microsecond of the lane evaluator.
const OPERATIONS: f64 = 400.0;
/// Multiply-adds a microsecond of the native matrix product.
const MULTIPLY_ADDS: f64 = 20_000.0;
/// Microseconds of a task beyond its work.
const TASK: f64 = 2.0;

impl KernelCost for HostCost {
    fn microseconds(&self, _: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let waves = params.tiles(body).div_ceil(self.threads) as f64;
        waves * self.task_microseconds(body, params)
    }

    fn task_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let points: f64 = params.tile.iter().map(|&extent| extent as f64).product();
        let stages = body.stages.iter().map(|stage| {
            let own = stage.expr.axes.values().skip(body.tile_rank).map(|axis| axis.extent as f64);
            points * own.product::<f64>() * operations(&stage.expr)
        });
        match params.template {
            Template::Contraction(shape) => {
                let lead = &body.stages[0].expr;
                let length: f64 = lead.reduced().map(|axis| lead.axes[axis].extent as f64).product();
                let sides = (shape.length(AxisClass::Row) + shape.length(AxisClass::Column)) as f64;
                let packing = sides.min(points + 1.0) * length * operations(lead) / OPERATIONS;
                TASK + points * length / MULTIPLY_ADDS + packing + points / OPERATIONS
            }
            Template::Pointwise { .. } | Template::Row(_) | Template::Kept => TASK + stages.sum::<f64>() / OPERATIONS,
            Template::Opaque => {
                let Some(work) = row_work(body) else { return f64::INFINITY };
                TASK + (work.evaluations * operations(&body.stages[0].expr) + work.sequential) / OPERATIONS
            }
            Template::Staged | Template::Attention { .. } => {
                let Some(boxes) = boxes(body, params) else { return f64::INFINITY };
                let staged = body.staged.iter().zip(&boxes).map(|(stage, staged)| {
                    let reduced = stage.expr.reduced().map(|axis| stage.expr.axes[axis].extent);
                    let points: usize = extents(staged).into_iter().chain(reduced).product();
                    points as f64 * operations(&stage.expr)
                });
                TASK + (stages.sum::<f64>() + staged.sum::<f64>()) / OPERATIONS
            }
        }
    }
}

fn operations(expr: &TensorExpr) -> f64 {
    (expr.body.operations() + expr.reads.len()) as f64
}
