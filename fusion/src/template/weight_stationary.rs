//! What kernels of the weight-stationary template cost.

use crate::cost::bound::BlockShape;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::cpu::Processor;
use crate::cost::host::evaluated;
use crate::cost::instructions::COMBINE_LATENCY;
use crate::template::pricing::CountedKernel;
use crate::template::pricing::{CALL_STEPS, Pricing};
use crate::template::row::cost::shared_row;
use warpweave_graph::expr::TensorExpr;
use warpweave_graph::types::ElementType;
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::WeightStationary;
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::row::rounds::{RUN, Round};
use warpweave_plan::template::rules::Rules;
use warpweave_plan::template::weight_stationary::passes::{Passes, reducing_rounds, trips};
use warpweave_plan::template::weight_stationary::reads::{
    SharedVector, resident_bytes, rows, shared_vectors, shuffles,
};

/// Cycles from the beginning of a step to its first product beside the load that it waits for: operands, a barrier, and
/// the vectors out of shared memory.
const BEGIN_CYCLES: f64 = 280.0;
/// Cycles that a trip along rows in shared memory waits for its loads.
const TRIP_CYCLES: f64 = 45.0;
/// Cycles that the data path takes for a shuffle of each of a block's warps, and for its choice of what to offer.
const SHUFFLE_CYCLES: f64 = 10.0;
/// Cycles of the data path for every load of a lane that finishes a row.
const READ_CYCLES: f64 = 10.0;
/// Cycles an operation, one after another, of a lane that finishes a row: functions count several.
const FINISH_CYCLES: f64 = 11.0;
/// Cycles from the finished row to the next step: its store, and the turn of the loop.
const END_CYCLES: f64 = 90.0;

/// Cycles of the beginning of a call beside its loads of constants: its dispatch, and two rounds of operands.
const CALL_CYCLES: f64 = 400.0;

impl Pricing for WeightStationary {
    /// # Panics
    /// Always: these kernels are priced by their rounds.
    fn counts(&self, _: &Kernel, _: Sampling) -> KernelCounts {
        unreachable!("weight-stationary kernels are priced by their rounds")
    }

    fn priced_counts(&self, _: &Kernel) -> KernelCounts {
        KernelCounts::default()
    }

    /// A step of a call that runs many: the other factors arrive, every row is multiplied and combined across lanes, then a
    /// lane a row finishes it. Constants in registers cost nothing any more, those in shared memory their way out of it.
    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        let (arch, latency) = (counted.arch, counted.arch.load_latency_cycles.value);
        let rows = rows(counted.kernel);
        let warps = self.block_size().warps();
        let passes = Passes::of(counted.kernel);
        let row_bytes = resident_bytes(counted.kernel) as f64 / rows as f64;
        let each = WARP as f64 * warps as f64 / counted.rates().instructions_per_cycle;
        let rounds = reducing_rounds(counted.kernel.body());
        // Instructions of a warp on a row in a column, and its trips.
        let work = |round: &Round| {
            (trips(counted.kernel.body(), round) * RUN) as f64 * own_work(counted.kernel.body(), round)
                + (trips(counted.kernel.body(), round) * round.reads(counted.kernel.body()).len()) as f64
        };
        let instructions: f64 = rounds.iter().map(work).sum();
        let trips = rounds.iter().map(|round| trips(counted.kernel.body(), round)).sum::<usize>() as f64;
        let (columns, runs) = (passes.columns as f64, (passes.columns / passes.together) as f64);
        let joined = if passes.last_joins { passes.in_shared() } else { 0 };
        let in_registers = columns * (passes.in_registers + joined) as f64 * instructions * each;
        let alone = passes.in_shared() - joined;
        let left = if alone > 0 { rows.saturating_sub(passes.in_registers * warps) as f64 } else { 0.0 };
        let per_cycle = arch.shared_bytes_per_cycle.value as f64;
        let bytes = runs * left * row_bytes / per_cycle;
        let issued = columns * left / warps as f64 * instructions * each;
        let in_shared = bytes.max(issued) + runs * alone as f64 * trips * TRIP_CYCLES;
        // A warp reads every vector once for its rows in registers, and once for each that is not.
        let vectors = shared_vectors(counted.kernel);
        let bytes_of = |vector: &SharedVector| (vector.read.length * ElementType::F32.bytes()) as f64;
        let of_column = vectors.iter().map(bytes_of).sum::<f64>() / per_cycle;
        let again = (columns - 1.0) * (warps as f64 + left) * of_column;
        let rows_again = joined as f64 * runs * warps as f64 * row_bytes / per_cycle;
        let together = if passes.in_shared() > 1 { passes.in_registers } else { passes.all };
        let loops = if passes.in_shared() > 1 { passes.in_shared() } else { 0 };
        let combines = [(together, 1), (1, loops)];
        let combined = combines.iter().filter(|(rows, _)| *rows > 0).map(|&(rows, times)| {
            let sums = rows * passes.sums * passes.together;
            runs * times as f64 * (COMBINE_LATENCY + shuffles(sums) as f64 * SHUFFLE_CYCLES)
        });
        let operations = |expr: &TensorExpr| expr.result().operations() as f64;
        let longest = counted.kernel.body().stages.iter().map(|stage| operations(&stage.expr)).fold(0.0, f64::max);
        let reads = counted.kernel.body().operands.len() as f64 * READ_CYCLES;
        let finishes = (passes.all * passes.columns).div_ceil(WARP) as f64;
        let finish = finishes * (FINISH_CYCLES * longest + reads) + END_CYCLES;
        let call = self.call_cycles(counted) / CALL_STEPS;
        let from_shared = again + rows_again;
        latency + call + BEGIN_CYCLES + in_registers + in_shared + from_shared + combined.sum::<f64>() + finish
    }

    /// The operands, and the constants of the rows that stay in registers on their way out of shared memory.
    fn call_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        let rows = rows(counted.kernel);
        let kept = rows.min(Passes::of(counted.kernel).in_registers * self.block_size().warps());
        let row_bytes = resident_bytes(counted.kernel) as f64 / rows as f64;
        CALL_CYCLES + kept as f64 * row_bytes / counted.arch.shared_bytes_per_cycle.value as f64
    }

    fn block_shape(&self, kernel: &Kernel, stage: usize) -> Option<BlockShape> {
        Some(shared_row(kernel, stage, WARP))
    }

    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64 {
        evaluated(kernel, processor.arch)
    }
}

/// Instructions at a point of a round, loads left out: a product that is added to a sum is one.
fn own_work(body: &GroupBody, round: &Round) -> f64 {
    let of_stage = |stage: usize| {
        let operations = body.stages[stage].expr.body.operations() as f64;
        ((operations + 1.0) / 2.0).max(1.0)
    };
    round.stages.clone().map(of_stage).sum()
}
