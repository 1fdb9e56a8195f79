//! What pointwise kernels cost.

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::group::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::host::evaluated;
use crate::template::kernel::Kernel;
use crate::template::pointwise::counts::{kernel_counts, side_by_side};
use crate::template::pricing::Pricing;
use warpweave_graph::expr::TensorExpr;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::fill::fill;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::pointwise::walk::Walk;
use warpweave_plan::template::rules::Rules;
use warpweave_plan::template::tile::ScheduleParams;

/// Cycles until a thread has its operands and knows its point: what calls the kernel, and loads of operands that depend on
/// one another.
const ENTRY_CYCLES: f64 = 600.0;
/// Cycles from one instruction of a warp to its next on average, where no other warp has to be waited for.
const DEPENDENT_CYCLES: f64 = 2.5;
/// Instructions that decode an axis of the tile, and those that every kernel has.
const AXIS_INSTRUCTIONS: f64 = 6.0;
const KERNEL_INSTRUCTIONS: f64 = 20.0;
/// Instructions of a load beside its own: its address, and its guard.
const ADDRESS_INSTRUCTIONS: f64 = 2.0;
/// Instructions of a store, its address included.
const STORE_INSTRUCTIONS: f64 = 3.0;

/// What a thread of a pointwise kernel does.
struct ThreadWork {
    /// Warps that have a point.
    warps: f64,
    /// Instructions of one thread.
    instructions: f64,
    /// Loads that wait for one another.
    rounds: f64,
}

impl ThreadWork {
    fn of(own: Pointwise, kernel: &Kernel<'_>) -> Self {
        let body = kernel.body;
        let points = kernel.params.tile.iter().product::<usize>().max(1);
        let threads = points.div_ceil(own.per_thread).min(own.block_size().threads());
        let warps = threads.div_ceil(WARP) as f64;
        let a_thread = 1.0 / (kernel.tiles() * warps * WARP as f64);
        let sides = side_by_side(own, body, kernel.params);
        let count = sides.map_or(1, |sides| sides.count);
        let trips = |expr: &TensorExpr| Walk::of(expr, count).trips() as f64;
        let reductions = body.stages.iter().filter(|stage| stage.expr.reducer.is_some());
        let rounds: f64 = reductions.map(|stage| trips(&stage.expr)).sum();
        let outputs = body.stages.iter().filter(|stage| stage.output.is_some()).count() * own.per_thread;
        let axes = kernel.params.tile.iter().filter(|extent| **extent > 1).count().max(1);
        let decoded = axes * if sides.is_some_and(|sides| sides.runs.is_some()) { 1 } else { own.per_thread };
        let instructions = KERNEL_INSTRUCTIONS
            + decoded as f64 * AXIS_INSTRUCTIONS
            + kernel.counts.global_loads * a_thread * (1.0 + ADDRESS_INSTRUCTIONS)
            + kernel.counts.operations * a_thread / 2.0
            + outputs as f64 * STORE_INSTRUCTIONS;
        Self { warps, instructions, rounds: rounds.max(1.0) }
    }
}

impl Pricing for Pointwise {
    fn counts(&self, body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
        kernel_counts(*self, body, params, sampling)
    }

    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64 {
        let work = ThreadWork::of(*self, kernel);
        let latency = kernel.arch.load_latency_cycles.value;
        let issue = work.instructions * work.warps / kernel.arch.schedulers.value as f64;
        let alone = work.instructions * DEPENDENT_CYCLES;
        let traffic = kernel.transfer(kernel.counts.load_sectors + kernel.counts.store_sectors);
        ENTRY_CYCLES + work.rounds * latency + issue.max(alone).max(traffic)
    }

    fn block_shape(&self, body: &GroupBody, params: &ScheduleParams, stage: usize) -> Option<BlockShape> {
        let block = extents(&body.stages[stage].expr, &params.tile);
        let mut thread = block.clone();
        let axes: Vec<usize> = (0..body.tile_rank).collect();
        thread[..body.tile_rank].copy_from_slice(&fill(&params.tile, &axes, self.per_thread));
        Some(BlockShape { block, thread, level: OperandLevel::Registers })
    }

    fn host_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        evaluated(body, params)
    }
}
