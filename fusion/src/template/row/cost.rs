//! What kernels of the row template cost.

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::group::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::host::evaluated;
use crate::cost::instructions::work;
use crate::template::kernel::Kernel;
use crate::template::kernel::reduced;
use crate::template::pricing::Pricing;
use crate::template::row::counts::counts;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::row::RowThreads;
use warpweave_plan::template::row::rounds::{Round, rounds};
use warpweave_plan::template::rules::Rules;
use warpweave_plan::template::tile::ScheduleParams;

/// Cycles that a reduction beside another adds to combining the lanes of each of a block's warps: five shuffles.
const SHUFFLE_CYCLES: f64 = 5.0;
/// Instructions that fetch a run of neighbours: an address and a load.
const FETCH_INSTRUCTIONS: f64 = 2.0;

impl Pricing for RowThreads {
    fn counts(&self, body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
        counts(body, params, *self, sampling)
    }

    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64 {
        let latency = kernel.arch.load_latency_cycles.value;
        let passes = match self {
            RowThreads::Warp => kernel.params.tile.iter().product::<usize>().div_ceil(self.block_size().warps()),
            RowThreads::Block => 1,
        };
        let pass: f64 = rounds(kernel.body).iter().map(|round| round_cycles(kernel, round, *self)).sum();
        let transfer = kernel.transfer(kernel.counts.load_sectors + kernel.counts.store_sectors);
        (passes as f64 * pass).max(latency + transfer)
    }

    fn block_shape(&self, body: &GroupBody, params: &ScheduleParams, stage: usize) -> Option<BlockShape> {
        let width = match self {
            Self::Warp => WARP,
            Self::Block => self.block_size().threads(),
        };
        Some(shared_row(body, params, stage, width))
    }

    fn host_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        evaluated(body, params)
    }
}

/// The boxes of a stage whose rows `width` threads share.
pub(crate) fn shared_row(body: &GroupBody, params: &ScheduleParams, stage: usize, mut width: usize) -> BlockShape {
    let block = extents(&body.stages[stage].expr, &params.tile);
    let mut thread = block.clone();
    thread[..body.tile_rank].fill(1);
    for extent in thread[body.tile_rank..].iter_mut().rev() {
        let across = width.min(*extent);
        *extent = extent.div_ceil(across);
        width /= across;
    }
    BlockShape { block, thread, level: OperandLevel::Registers }
}

/// Cycles of one round on the rows that a block takes at once.
fn round_cycles(kernel: &Kernel<'_>, round: &Round, threads: RowThreads) -> f64 {
    let (rate, latency) = (kernel.rates().instructions_per_cycle, kernel.arch.load_latency_cycles.value);
    let block_size = threads.block_size();
    let (rows, width, combine) = match threads {
        RowThreads::Warp => (block_size.warps() as f64, WARP as f64, 150.0),
        RowThreads::Block => (1.0, block_size.threads() as f64, 350.0),
    };
    let first = round.stages.start;
    let lead = &kernel.body.stages[first].expr;
    let extra = kernel.body.extra_axes(first).into_iter().map(|axis| lead.axes[axis].extent as f64);
    let length = reduced(lead) * extra.product::<f64>();
    let trips = (length / (width * round.run as f64)).ceil();
    let arithmetic = rows * length * round_work(kernel, round) / rate;
    let beside = ((round.stages.len() - 1) * block_size.warps()) as f64 * SHUFFLE_CYCLES;
    combine + beside + (trips * latency / 4.0).max(arithmetic) + latency
}

/// Instructions a point of a round.
pub(crate) fn round_work(kernel: &Kernel<'_>, round: &Round) -> f64 {
    if round.run == 1 {
        return kernel.body.stages[round.stages.clone()].iter().map(|stage| work(&stage.expr)).sum();
    }
    let own = kernel.body.stages[round.stages.clone()].iter().map(|stage| stage.expr.body.operations() as f64);
    let fetched = round.reads(kernel.body).len() as f64 * FETCH_INSTRUCTIONS / round.run as f64;
    own.sum::<f64>() + fetched
}
