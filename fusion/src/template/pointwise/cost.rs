//! What pointwise kernels cost.

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::group::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::host::evaluated;
use crate::cost::instructions::arithmetic;
use crate::template::kernel::{Kernel, reduced};
use crate::template::pointwise::counts::{kernel_counts, side_by_side};
use crate::template::pricing::Pricing;
use crate::template::staged::cost::operand_bytes;
use warpweave_graph::expr::TensorExpr;
use warpweave_plan::body::{GroupBody, Stage};
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::fill::fill;
use warpweave_plan::template::pointwise::walk::Walk;
use warpweave_plan::template::pointwise::{PointOrder, Pointwise};
use warpweave_plan::template::rules::Rules;
use warpweave_plan::template::tile::ScheduleParams;

/// Cycles until a thread has its operands and knows its point: what calls the kernel, and loads of operands that depend on
/// one another.
const ENTRY_CYCLES: f64 = 600.0;
/// Cycles from one instruction of a warp to its next on average, where no other warp has to be waited for.
const DEPENDENT_CYCLES: f64 = 2.6;
/// Instructions that decode an axis of the tile, and those that every kernel has.
const AXIS_INSTRUCTIONS: f64 = 6.0;
const KERNEL_INSTRUCTIONS: f64 = 25.0;
/// Instructions of a load: its own, an address, and two moves of the memory's descriptor.
const LOAD_INSTRUCTIONS: f64 = 4.0;
/// Instructions of a load's guard: its conditions are shared with other loads; the value elsewhere is its own.
const GUARD_INSTRUCTIONS: f64 = 2.0;
/// Instructions of a store with address and descriptor.
const STORE_INSTRUCTIONS: f64 = 4.0;

/// What a warp of a pointwise kernel does.
struct WarpWork {
    /// Warps that have a point.
    warps: f64,
    /// Instructions of one warp.
    instructions: f64,
    /// Loads that wait for one another.
    rounds: f64,
}

impl WarpWork {
    fn of(own: Pointwise, kernel: &Kernel<'_>) -> Self {
        let (body, counts) = (kernel.body, &kernel.counts);
        let points = kernel.params.tile.iter().product::<usize>().max(1);
        let threads = points.div_ceil(own.per_thread).min(own.block_size().threads());
        let warps = threads.div_ceil(WARP) as f64;
        let a_warp = 1.0 / (kernel.tiles() * warps);
        let sides = side_by_side(own, body, kernel.params);
        // Points one after another wait one after another.
        let (count, turns) = sides.map_or((1, own.per_thread), |sides| (sides.count, 1));
        let trips = |expr: &TensorExpr| Walk::of(expr, count).trips() as f64;
        let reductions = body.stages.iter().filter(|stage| stage.expr.reducer.is_some());
        let rounds: f64 = reductions.map(|stage| trips(&stage.expr)).sum();
        let outputs = body.stages.iter().filter(|stage| stage.output.is_some()).count() * own.per_thread;
        let axes = kernel.params.tile.iter().filter(|extent| **extent > 1).count().max(1);
        let decoded = axes * if own.order == PointOrder::Run { 1 } else { own.per_thread };
        let instructions = KERNEL_INSTRUCTIONS
            + decoded as f64 * AXIS_INSTRUCTIONS
            + counts.warp_loads * a_warp * LOAD_INSTRUCTIONS
            + counts.guarded_loads * a_warp * GUARD_INSTRUCTIONS
            + arithmetic_instructions(body, own.per_thread)
            + outputs as f64 * STORE_INSTRUCTIONS;
        Self { warps, instructions, rounds: rounds.max(1.0) * turns as f64 }
    }
}

/// Instructions of a thread's arithmetic: its body at every tap of every point, and what follows.
fn arithmetic_instructions(body: &GroupBody, points: usize) -> f64 {
    let stage = |stage: &Stage| {
        let expr = &stage.expr;
        let taps = arithmetic(&expr.body).max(1.0) * reduced(expr);
        taps + expr.epilogue.as_ref().map_or(0.0, arithmetic)
    };
    points as f64 * body.stages.iter().map(stage).sum::<f64>()
}

impl Pricing for Pointwise {
    fn counts(&self, body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
        kernel_counts(*self, body, params, sampling)
    }

    /// The slowest of: the instructions of a scheduler's warps, the passes of all loads through the first-level cache, and what
    /// comes from and goes to the second level. Before that a thread finds its point, and loads that wait for one another
    /// take a latency each.
    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64 {
        let work = WarpWork::of(*self, kernel);
        let latency = kernel.arch.load_latency_cycles.value;
        let sharing = work.warps / kernel.arch.schedulers.value as f64;
        let issue = work.instructions * sharing.max(DEPENDENT_CYCLES);
        let passes = kernel.counts.load_lines / kernel.tiles();
        let tiles = kernel.params.tiles(kernel.body).max(1);
        let stored = kernel.counts.store_sectors / kernel.tiles() * kernel.arch.transaction_bytes.value as f64;
        let loaded = kernel.counts.load_sectors / kernel.tiles() * kernel.arch.transaction_bytes.value as f64;
        let distinct = loaded.min(operand_bytes(kernel.body, kernel.params, &[]) as f64);
        let traffic = kernel.arch.cycles_of_bytes(distinct + stored, tiles);
        ENTRY_CYCLES + work.rounds * latency + issue.max(passes).max(traffic)
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
