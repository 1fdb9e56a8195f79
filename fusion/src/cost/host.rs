//! What a group costs on the host back end.

use crate::template::candidates::{candidates, thread_candidates};
use crate::template::contraction::host_tiles::host_tiles;
use crate::template::pricing;
use std::sync::Arc;
use warpweave_graph::expr::{AxisId, AxisKind, BinaryOp, Index, Read, Reducer, Scalar, TensorExpr};
use warpweave_graph::program::TensorProgram;

use crate::cost::counts::evaluation::element_of_output;
use crate::cost::cpu::{CpuArch, Processor};
use crate::cost::{KernelCost, PricedKernel};
use warpweave_plan::body::{GroupBody, Stage, StageSource};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::staged::{StagedBox, extents};

/// Costs of the host back end: contractions are native matrix products after packing, everything else is instructions over
/// registers of neighbouring points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostCost {
    pub arch: CpuArch,
    /// Threads that share the rTasks.
    pub threads: usize,
}

/// Points of a reduction up to which it is a window.
const MOST_TAPS: usize = 128;
/// What an operation of a window takes, whose values stay in vector registers.
const WINDOW_SHARE: f64 = 0.5;
/// What an operation of a longer reduction takes, whose edges are found again at each of its points.
const GUARDED_SHARE: f64 = 8.0;
/// What an operation takes on values that lie apart, which are loaded and stored one after another.
const APART_SHARE: f64 = 8.0;
/// What an operation of a sum of products takes: rows that lie side by side are multiplied as they stream by.
const PRODUCT_SHARE: f64 = 0.2;
/// Threads of a small machine. A plan runs on any number of threads, so a cost is a sum. Its terms are the time on the
/// most threads, the time on so many, and half of the time on one. On few threads, what tiles compute again weighs more.
const FEW_THREADS: usize = 2;

impl KernelCost for HostCost {
    fn microseconds(&self, program: &TensorProgram, kernel: &Kernel) -> f64 {
        let tiles = kernel.tiles();
        let waves = |threads: usize| tiles.div_ceil(threads) as f64;
        let together = waves(self.threads) + waves(FEW_THREADS) + tiles as f64 / FEW_THREADS as f64;
        let processor = Processor { arch: &self.arch, program: Some(program) };
        together * pricing(kernel.template()).host_microseconds(kernel, processor)
    }

    fn task_microseconds(&self, kernel: &Kernel) -> f64 {
        let processor = Processor { arch: &self.arch, program: None };
        pricing(kernel.template()).host_microseconds(kernel, processor)
    }

    fn best(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Option<PricedKernel> {
        let own = thread_candidates(body).chain(host_tiles(body, &self.arch));
        let kernels = candidates(body).into_iter().chain(own);
        PricedKernel::cheapest(kernels.map(|kernel| self.price(program, kernel)))
    }

    fn shared_bytes_per_block(&self) -> usize {
        0
    }
}

/// Microseconds of a tile all of whose stages the vector engine evaluates.
pub(crate) fn evaluated(kernel: &Kernel, arch: &CpuArch) -> f64 {
    arch.task_microseconds.value + evaluations(kernel) / arch.operations_per_microsecond.value
}

/// The same where staged values are evaluated on their boxes first.
pub(crate) fn evaluated_in_boxes(kernel: &Kernel, arch: &CpuArch) -> f64 {
    let body = kernel.body();
    let Some(boxes) = kernel.boxes() else { return f64::INFINITY };
    let staged = body.staged.iter().zip(boxes).map(|(stage, staged)| {
        let points: usize = extents(staged).into_iter().product();
        points as f64 * operations(&stage.expr, share(&stage.expr, false))
    });
    let operations = evaluations(kernel) + staged.sum::<f64>();
    let elements = |staged: &StagedBox| extents(staged).into_iter().product::<usize>();
    let sizes = body.staged.iter().map(|stage| stage.expr.element.bytes());
    let bytes = sizes.zip(boxes).map(|(size, staged)| (size * elements(staged)) as f64).sum::<f64>();
    let moved = arch.transfer_microseconds(2.0 * bytes, bytes);
    arch.task_microseconds.value + operations / arch.operations_per_microsecond.value + moved
}

/// Scalar operations of the stages of a tile, in the time of those of the vector engine.
fn evaluations(kernel: &Kernel) -> f64 {
    let body = kernel.body();
    let points: f64 = kernel.tile().iter().map(|&extent| extent as f64).product();
    let is_one_by_one = (0..body.stages.len()).any(|stage| !body.extra_axes(stage).is_empty());
    let stages = body.stages.iter().enumerate().map(|(at, stage)| {
        let own = stage.expr.axes.values().skip(body.tile_rank).filter(|axis| axis.kind == AxisKind::Parallel);
        let lies_apart = lies_apart(body, at);
        let share = share(&stage.expr, lies_apart);
        let share = if is_one_by_one && lies_apart { share.max(APART_SHARE) } else { share };
        points * own.map(|axis| axis.extent as f64).product::<f64>() * operations(&stage.expr, share)
    });
    stages.sum()
}

/// Whether values of a stage lie apart in memory along each of its own axes. They are taken along one of them where the points that
/// stages share are computed one by one.
fn lies_apart(body: &GroupBody, stage: usize) -> bool {
    let Stage { expr, sources, .. } = &body.stages[stage];
    let in_memory = |read: &&Read| matches!(sources[read.operand], StageSource::Operand(_));
    let element = |read: &Read| Index::linear(&read.index, &expr.operands[read.operand].shape.strides(), 0);
    let read = expr.reads.values().filter(in_memory).map(element);
    let elements: Vec<Index> = read.chain(element_of_output(body, stage)).collect();
    let mut own = expr.axes.iter().skip(body.tile_rank).filter(|(_, axis)| axis.extent > 1).peekable();
    let are_near = |axis: AxisId| elements.iter().all(|element| (0..=1).contains(&element.coefficient(axis)));
    own.peek().is_some() && !own.any(|(axis, _)| are_near(axis))
}

/// What an operation of an expression takes, in the time of one on values side by side. Products whose factors lie apart along all that
/// is reduced are no rows.
fn share(expr: &TensorExpr, lies_apart: bool) -> f64 {
    let reduced: usize = expr.reduced().map(|axis| expr.axes[axis].extent).product();
    let is_guarded = expr.reads.values().any(|read| !read.guard.is_always());
    match (expr.reducer, reduced) {
        (None, _) => 1.0,
        (Some(_), ..=MOST_TAPS) => WINDOW_SHARE,
        (Some(_), _) if is_guarded => GUARDED_SHARE,
        (Some(Reducer::Sum), _) if adds_products(&expr.body) && !lies_apart => PRODUCT_SHARE,
        (Some(_), _) => 1.0,
    }
}

/// Whether a scalar is a sum of products of what is read.
fn adds_products(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Binary(BinaryOp::Multiply, left, right) => {
            [left, right].iter().all(|factor| matches!(***factor, Scalar::Read(_)))
        }
        Scalar::Binary(BinaryOp::Add, left, right) => adds_products(left) && adds_products(right),
        _ => false,
    }
}

/// Scalar operations a point of the parallel axes: those of the body at each value that is reduced, each of which takes `share` of one
/// on values side by side, and those of what follows once.
pub(crate) fn operations(expr: &TensorExpr, share: f64) -> f64 {
    let of = |scalar: &Scalar| (scalar.operations() + expr.reads_of(scalar).len()) as f64;
    let reduced: usize = expr.reduced().map(|axis| expr.axes[axis].extent).product();
    reduced as f64 * of(&expr.body) * share + expr.epilogue.as_ref().map_or(0.0, of)
}
