//! What a kernel costs: estimated from the model, later recorded or measured.

use warpweave_graph::expr::{TensorExpr, region};
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::types::TensorType;

use super::arch::GpuArch;
use super::body::{GroupBody, StageSource};
use super::contraction::AxisClass;
use super::params::{BLOCK_THREADS, RowThreads, ScheduleParams, Template, candidates};

/// The time of a group's kernel under a choice of parameters.
pub trait KernelCost: Sync {
    /// Microseconds on the whole device, the dependent step included.
    fn microseconds(&self, program: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64;

    /// Microseconds of one rTask that has its unit to itself.
    fn task_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64;
}

/// The cheapest choice for a body and its cost in microseconds; the first of equals.
pub fn best(cost: &impl KernelCost, program: &TensorProgram, body: &GroupBody) -> (ScheduleParams, f64) {
    let priced = candidates(body).into_iter().map(|params| {
        let time = cost.microseconds(program, body, &params);
        (params, time)
    });
    priced.min_by(|a, b| a.1.total_cmp(&b.1)).expect("every body has a candidate")
}

/// Costs from the architecture model alone: rooflines for traffic and arithmetic, latencies for what a block does one
/// after another, and the cost of a dependent step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EstimatedCost {
    /// The device.
    pub arch: GpuArch,
}

impl KernelCost for EstimatedCost {
    fn microseconds(&self, program: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let arch = &self.arch;
        let traffic = bytes(program, body) as f64 / arch.memory_bytes_per_microsecond.value;
        let waves = params.tiles(body).div_ceil(arch.multiprocessors.value) as f64;
        let tile = self.tile_cycles(body, params) / arch.cycles_per_microsecond.value;
        arch.step_microseconds.value + traffic.max(waves * tile)
    }

    fn task_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        self.tile_cycles(body, params) / self.arch.cycles_per_microsecond.value
    }
}

impl EstimatedCost {
    /// Cycles of one tile on a multiprocessor of its own.
    fn tile_cycles(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let lanes = self.arch.multiply_adds_per_cycle.value;
        let latency = self.arch.load_latency_cycles.value;
        let lead = &body.stages[0].expr;
        match params.template {
            Template::Pointwise { per_thread } => {
                let points = per_thread as f64 * BLOCK_THREADS as f64;
                let per_point: f64 = body.stages.iter().map(|stage| reduced(&stage.expr) * work(&stage.expr)).sum();
                let serial: f64 = body.stages.iter().map(|stage| reduced(&stage.expr) * latency / 8.0).sum();
                latency + serial + points * per_point / lanes
            }
            Template::Row(threads) => {
                let (rows, width) = match threads {
                    RowThreads::Warp => (8.0, 32.0),
                    RowThreads::Block => (1.0, BLOCK_THREADS as f64),
                };
                let combine = if threads == RowThreads::Warp { 150.0 } else { 350.0 };
                let stage = |at: usize| {
                    let expr = &body.stages[at].expr;
                    let extra = body.extra_axes(at).into_iter().map(|axis| expr.axes[axis].extent as f64);
                    let length = reduced(expr) * extra.product::<f64>();
                    let trips = (length / width).ceil();
                    let arithmetic = rows * length * work(expr) / lanes;
                    combine + (trips * latency / 4.0).max(arithmetic) + latency
                };
                (0..body.stages.len()).map(stage).sum()
            }
            Template::Contraction(shape) => {
                let (rows, columns) = (shape.length(AxisClass::Row) as f64, shape.length(AxisClass::Column) as f64);
                let length = reduced(lead);
                let multiply = length * rows * columns / (lanes * 0.6);
                let fetch = length * (rows + columns) * work(lead) / lanes;
                let steps = (length / shape.step as f64).ceil();
                steps * (latency + 60.0) + multiply + fetch + latency
            }
        }
    }
}

fn reduced(expr: &TensorExpr) -> f64 {
    expr.reduced().map(|axis| expr.axes[axis].extent as f64).product()
}

/// Instructions a point, index arithmetic included.
fn work(expr: &TensorExpr) -> f64 {
    let reads =
        expr.reads.values().map(|read| 2.0 + read.index.len() as f64 + 2.0 * read.guard.conditions().len() as f64);
    expr.body.operations() as f64 + 1.0 + reads.sum::<f64>()
}

/// Bytes that the group moves through memory: each operand's region once, each output once.
pub fn bytes(program: &TensorProgram, body: &GroupBody) -> u64 {
    moved_bytes(body, |tensor| &program.tensors[tensor].ty)
}

/// [`bytes`] where the types of tensors come from elsewhere, such as a plan.
pub fn moved_bytes<'a>(body: &GroupBody, ty: impl Fn(TensorId) -> &'a TensorType) -> u64 {
    let size = |tensor: TensorId| ty(tensor).element.bytes() as u64;
    let mut read = vec![0u64; body.operands.len()];
    for stage in &body.stages {
        let whole = region::whole(&stage.expr);
        for (id, access) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[access.operand] else { continue };
            let points = region::input_region(&stage.expr, id, &whole).map_or(0, |region| {
                region.iter().map(|range| (range.maximum - range.minimum + 1) as u64).product::<u64>()
            });
            read[operand] = read[operand].max(points);
        }
    }
    let loaded: u64 = body.operands.iter().zip(read).map(|(&operand, points)| points * size(operand)).sum();
    let stored: u64 = body.outputs.iter().map(|&output| ty(output).bytes() as u64).sum();
    loaded + stored
}
