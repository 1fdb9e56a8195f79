//! What kernels of the weight-stationary template cost.

use crate::cost::bound::BlockShape;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::host::evaluated;
use crate::cost::instructions::BARRIER_CYCLES;
use crate::cost::instructions::COMBINE_LATENCY;
use crate::template::kernel::Kernel;
use crate::template::kernel::reduced;
use crate::template::pricing::Pricing;
use crate::template::row::cost::round_work;
use crate::template::row::cost::shared_row;
use warpweave_graph::expr::TensorExpr;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::WeightStationary;
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::row::rounds::{Round, rounds};
use warpweave_plan::template::rules::Rules;
use warpweave_plan::template::tile::ScheduleParams;
use warpweave_plan::template::weight_stationary::reads::resident_bytes;
use warpweave_plan::template::weight_stationary::reads::shuffles;

/// Cycles an operation, one after another, of a thread that finishes a row: functions count several.
const FINISH_CYCLES: f64 = 10.0;

impl Pricing for WeightStationary {
    /// # Panics
    /// Always: these kernels are priced by their rounds.
    fn counts(&self, _: &GroupBody, _: &ScheduleParams, _: Sampling) -> KernelCounts {
        unreachable!("weight-stationary kernels are priced by their rounds")
    }

    fn priced_counts(&self, _: &GroupBody, _: &ScheduleParams) -> KernelCounts {
        KernelCounts::default()
    }

    /// Rows whose constants are on chip: the other factors arrive, every row is multiplied and combined across lanes, then a
    /// thread a row finishes all rows at once.
    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64 {
        let (arch, latency) = (kernel.arch, kernel.arch.load_latency_cycles.value);
        let rows = kernel.params.tile.iter().product::<usize>();
        let warps = self.block_size().warps();
        let passes = rows.div_ceil(warps) as f64;
        let rates = kernel.rates();
        let bytes = resident_bytes(kernel.body, kernel.params) as f64;
        let read = bytes / arch.shared_bytes_per_cycle.value as f64;
        let of_round = |round: &Round| {
            let lead = &kernel.body.stages[round.stages.start].expr;
            let (points, sums) = (rows as f64 * reduced(lead), round.stages.len());
            let arithmetic = points * round_work(kernel, round) / rates.instructions_per_cycle;
            (arithmetic, passes * (shuffles(sums) * warps) as f64)
        };
        let reducing = |round: &Round| kernel.body.stages[round.stages.start].expr.reducer.is_some();
        let rounds: Vec<(f64, f64)> =
            rounds(kernel.body).iter().filter(|round| reducing(round)).map(of_round).collect();
        let (arithmetic, combined) = rounds.iter().fold((0.0, 0.0), |sum, round| (sum.0 + round.0, sum.1 + round.1));
        let operations = |expr: &TensorExpr| expr.result().operations() as f64;
        let longest = kernel.body.stages.iter().map(|stage| operations(&stage.expr)).fold(0.0, f64::max);
        latency + (read + combined).max(arithmetic) + COMBINE_LATENCY + 2.0 * BARRIER_CYCLES + FINISH_CYCLES * longest
    }

    fn block_shape(&self, body: &GroupBody, params: &ScheduleParams, stage: usize) -> Option<BlockShape> {
        Some(shared_row(body, params, stage, WARP))
    }

    fn host_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64 {
        evaluated(body, params)
    }
}
