//! What pointwise kernels cost.

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::group::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::host::evaluated;
use crate::cost::instructions::work;
use crate::template::kernel::Kernel;
use crate::template::kernel::reduced;
use crate::template::pointwise::counts::counts;
use crate::template::pricing::Pricing;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::fill::fill;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::rules::Rules;
use warpweave_plan::template::tile::ScheduleParams;

impl Pricing for Pointwise {
    fn counts(&self, body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
        counts(body, params, &[], self.per_thread, sampling)
    }

    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64 {
        let (rate, latency) = (kernel.rates().instructions_per_cycle, kernel.arch.load_latency_cycles.value);
        let stages = &kernel.body.stages;
        let points = self.per_thread as f64 * self.block_size().threads() as f64;
        let per_point: f64 = stages.iter().map(|stage| reduced(&stage.expr) * work(&stage.expr)).sum();
        let serial: f64 = stages.iter().map(|stage| reduced(&stage.expr) * latency / 8.0).sum();
        let traffic = kernel.transfer(kernel.counts.load_sectors + kernel.counts.store_sectors);
        latency + (serial + points * per_point / rate).max(traffic)
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
