//! What procedures cost, a row a block.

use crate::cost::bound::BlockShape;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::counts::evaluation::SECTOR;
use crate::cost::cpu::Processor;
use crate::cost::host::operations;
use crate::cost::instructions::BARRIER_CYCLES;
use crate::cost::instructions::work;
use crate::template::pricing::CountedKernel;
use crate::template::pricing::Pricing;
use crate::template::row::cost::shared_row;
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::Opaque;
use warpweave_plan::template::opaque::{row_work, rows};
use warpweave_plan::template::rules::Rules;

/// Instructions of a thread at a step, beside the body's.
const STEP_INSTRUCTIONS: f64 = 24.0;

/// Cycles of a warp's step: where its pair lies, a branch, the pair's loads, their comparison, another branch and the stores. Each
/// waits for the one before it.
const STEP_CYCLES: f64 = 175.0;

impl Pricing for Opaque {
    fn counts(&self, kernel: &Kernel, _: Sampling) -> KernelCounts {
        procedure_counts(kernel.body())
    }

    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        let transfer = counted.transfer(counted.counts.load_sectors + counted.counts.store_sectors);
        row_cycles(counted, BARRIER_CYCLES).max(transfer)
    }

    fn block_shape(&self, kernel: &Kernel, stage: usize) -> Option<BlockShape> {
        Some(shared_row(kernel, stage, self.block_size().threads()))
    }

    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64 {
        let Some(work) = row_work(kernel.body()) else { return f64::INFINITY };
        let operations = work.evaluations * operations(&kernel.body().stages[0].expr, 1.0) + work.sequential;
        let arch = processor.arch;
        arch.task_microseconds.value + operations / arch.operations_per_microsecond.value
    }
}

/// Cycles of a row on a block.
fn row_cycles(counted: &CountedKernel<'_>, meeting: f64) -> f64 {
    let (body, arch) = (counted.kernel.body(), counted.arch);
    let Some(row) = row_work(body) else { return f64::INFINITY };
    let threads = Opaque.block_size().threads() as f64;
    let lanes = counted.rates().lanes;
    let issue = STEP_INSTRUCTIONS * threads / lanes;
    let evaluation = work(&body.stages[0].expr) * threads / lanes;
    let latency = arch.load_latency_cycles.value;
    (row.evaluations / threads).ceil() * (evaluation + latency)
        + row.shared_steps * issue.max(STEP_CYCLES)
        + row.global_steps * (issue + latency)
        + row.barriers * meeting
        + 2.0 * latency
}

/// What the kernels of all rows do.
fn procedure_counts(body: &GroupBody) -> KernelCounts {
    let (Some(work), Some(stage)) = (row_work(body), body.stages.first()) else { return KernelCounts::default() };
    let threads = Opaque.block_size().threads() as f64;
    let rows = rows(stage);
    let reads = stage.expr.reads.len() as f64 * work.evaluations;
    let words = (PAIRS * WORDS_OF_PAIR) as f64 * threads * work.global_steps;
    KernelCounts {
        operations: rows * work.evaluations * stage.expr.body.operations() as f64,
        load_sectors: rows * (reads + words) / WORDS_OF_SECTOR,
        store_sectors: rows * (words + 2.0 * work.length) / WORDS_OF_SECTOR,
        global_loads: rows * (reads + words),
        ..KernelCounts::default()
    }
}

/// Words of a sector of global memory.
const WORDS_OF_SECTOR: f64 = (SECTOR as usize / WORD_BYTES) as f64;
/// Pairs of words that a step of a sort looks at, and writes back.
const PAIRS: usize = 2;
/// Words of a pair: a value and its place.
const WORDS_OF_PAIR: usize = 2;
