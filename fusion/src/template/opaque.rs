//! What procedures cost, a row a block.

use crate::cost::arch::GpuArch;
use crate::cost::counts::KernelCounts;
use crate::cost::instructions::work;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::BLOCK_THREADS;
use warpweave_plan::template::opaque::{row_work, rows};

/// Instructions of a thread at a step, beside the body's.
const STEP_INSTRUCTIONS: f64 = 24.0;

/// Cycles of a row on a block.
pub(crate) fn row_cycles(body: &GroupBody, arch: &GpuArch, meeting: f64) -> f64 {
    let Some(row) = row_work(body) else { return f64::INFINITY };
    let threads = BLOCK_THREADS as f64;
    let lanes = arch.lanes.value as f64;
    let issue = STEP_INSTRUCTIONS * threads / lanes;
    let evaluation = work(&body.stages[0].expr) * threads / lanes;
    let (latency, shared) = (arch.load_latency_cycles.value, arch.shared_latency_cycles.value);
    row.evaluations / threads * (evaluation + latency)
        + row.shared_steps * issue.max(shared)
        + row.global_steps * (issue + latency)
        + row.meetings * meeting
        + 2.0 * latency
}

/// What the kernels of all rows do.
pub(crate) fn kernel_counts(body: &GroupBody) -> KernelCounts {
    let (Some(work), Some(stage)) = (row_work(body), body.stages.first()) else { return KernelCounts::default() };
    let threads = BLOCK_THREADS as f64;
    let rows = rows(stage);
    let reads = stage.expr.reads.len() as f64 * work.evaluations;
    // A step of a sort looks at two pairs of words, and writes them back.
    let words = 4.0 * threads * work.global_steps;
    KernelCounts {
        operations: rows * work.evaluations * stage.expr.body.operations() as f64,
        load_sectors: rows * (reads + words) / WORDS_OF_SECTOR,
        store_sectors: rows * (words + 2.0 * work.length) / WORDS_OF_SECTOR,
        global_loads: rows * (reads + words),
        ..KernelCounts::default()
    }
}

/// Words of a sector of global memory.
const WORDS_OF_SECTOR: f64 = 8.0;
