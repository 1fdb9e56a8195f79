//! What kernels of the contraction template cost.

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::group::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::host::MULTIPLY_ADDS;
use crate::cost::host::OPERATIONS;
use crate::cost::host::TASK;
use crate::cost::host::operations;
use crate::cost::instructions::BARRIER_CYCLES;
use crate::cost::instructions::work;
use crate::template::contraction::counts::ContractionModel;
use crate::template::kernel::Kernel;
use crate::template::kernel::reduced;
use crate::template::pricing::Pricing;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::TensorExpr;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::shape::Pipeline;
use warpweave_plan::template::fill::fill;
use warpweave_plan::template::tile::ScheduleParams;

/// Instructions for an element's index and store after a contraction's reduction, beside its own operations.
const STORE_INSTRUCTIONS: f64 = 8.0;

impl Pricing for ContractionShape {
    fn counts(&self, body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
        ContractionModel::new(body).counts(params, *self, sampling)
    }

    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64 {
        product_cycles(kernel, self)
    }

    fn prefetched_cycles(&self, kernel: &Kernel<'_>, sides: &[AxisClass]) -> f64 {
        let elements = |sides: &[AxisClass]| sides.iter().map(|side| self.length(*side)).sum::<usize>() as f64;
        let share = elements(sides) / elements(&[AxisClass::Row, AxisClass::Column]);
        share * step_fetch(kernel, self)
    }

    fn block_shape(&self, body: &GroupBody, params: &ScheduleParams, stage: usize) -> Option<BlockShape> {
        let expr = &body.stages[stage].expr;
        let block = extents(expr, &params.tile);
        let mut thread = block.clone();
        thread[..body.tile_rank].fill(1);
        if let Some(contraction) = Contraction::of(body) {
            for (class, side) in [(AxisClass::Row, self.rows), (AxisClass::Column, self.columns)] {
                let axes = contraction.tile_axes(body, class);
                let filled = fill(&params.tile, &axes, side);
                axes.iter().for_each(|&axis| thread[axis] = filled[axis]);
            }
        }
        let level = if expr.reducer.is_some() { sliced(expr, &block, self) } else { OperandLevel::Registers };
        Some(BlockShape { block, thread, level })
    }

    fn host_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        let points: f64 = params.tile.iter().map(|&extent| extent as f64).product();
        let lead = &body.stages[0].expr;
        let length: f64 = lead.reduced().map(|axis| lead.axes[axis].extent as f64).product();
        let sides = (self.length(AxisClass::Row) + self.length(AxisClass::Column)) as f64;
        let packing = sides.min(points + 1.0) * length * operations(lead) / OPERATIONS;
        TASK + points * length / MULTIPLY_ADDS + packing + points / OPERATIONS
    }
}

/// A slice of one step's points of the reduction. Reads from shared memory do not conflict: lanes read neighbouring
/// columns, or the same rows.
fn sliced(expr: &TensorExpr, block: &[usize], shape: &ContractionShape) -> OperandLevel {
    let reduced: Vec<usize> = expr.reduced().map(Id::index).collect();
    let filled = fill(block, &reduced, shape.k_tile);
    let slice = reduced.into_iter().map(|axis| filled[axis]).collect();
    OperandLevel::Shared { slice, overlapped: shape.pipeline != Pipeline::Unpipelined, conflict_degree: 1.0 }
}

fn product_cycles(kernel: &Kernel<'_>, shape: &ContractionShape) -> f64 {
    let (arch, latency) = (kernel.arch, kernel.arch.load_latency_cycles.value);
    let lead = &kernel.body.stages[0].expr;
    let steps = steps(kernel, shape);
    let fetch = step_fetch(kernel, shape);
    let compute = step_cycles(kernel, shape, work(lead)) + arch.shared_latency_cycles.value;
    let loop_cycles = match shape.pipeline {
        Pipeline::Unpipelined => steps * (latency + fetch + compute + 2.0 * BARRIER_CYCLES),
        Pipeline::RegisterPrefetch => latency + fetch + steps * (compute + BARRIER_CYCLES).max(latency + fetch),
        Pipeline::Asynchronous { depth } => {
            let ahead = (latency + fetch) / (depth as f64 - 1.0);
            latency + fetch + steps * (compute + BARRIER_CYCLES).max(fetch).max(ahead)
        }
    };
    let elements = (shape.rows * shape.columns * shape.block_size().threads()) as f64;
    let after = elements * STORE_INSTRUCTIONS / kernel.rates().lanes;
    loop_cycles + after.max(kernel.transfer(kernel.counts.store_sectors)) + latency
}

fn steps(kernel: &Kernel<'_>, shape: &ContractionShape) -> f64 {
    (reduced(&kernel.body.stages[0].expr) / shape.k_tile as f64).ceil().max(1.0)
}

/// Cycles in which both factors of one step arrive, the latency left out.
fn step_fetch(kernel: &Kernel<'_>, shape: &ContractionShape) -> f64 {
    kernel.transfer(kernel.counts.load_sectors) / steps(kernel, shape)
}

/// Cycles of the products of one step, and of what brings the next: the slowest of multiply-adds, shared memory and
/// instructions.
fn step_cycles(kernel: &Kernel<'_>, shape: &ContractionShape, work: f64) -> f64 {
    let threads = shape.block_size().threads();
    let multiply_adds = (shape.rows * shape.columns * shape.k_tile * threads) as f64;
    let reads = shape.rows / shape.row_width() + shape.columns / shape.column_width;
    let loads = (reads * shape.k_tile * threads) as f64;
    let fetched = ((shape.length(AxisClass::Row) + shape.length(AxisClass::Column)) * shape.k_tile) as f64;
    let wavefronts = wavefronts(kernel, shape) * shape.k_tile as f64;
    let instructions = multiply_adds + loads + fetched * work;
    let rates = kernel.rates();
    (multiply_adds / rates.multiply_adds_per_cycle).max(wavefronts).max(instructions / rates.lanes)
}

/// Wavefronts of a block's reads from shared memory a point of the reduction.
fn wavefronts(kernel: &Kernel<'_>, shape: &ContractionShape) -> f64 {
    (shape.block_size().warps() * (shape.rows + shape.columns)) as f64 * kernel.counts.conflict_degree()
}
