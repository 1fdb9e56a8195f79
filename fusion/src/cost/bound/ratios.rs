//! The four factors of the bound.

use warpweave_graph::numerics::WORD_BYTES;

use crate::cost::arch::GpuArch;
use crate::cost::arithmetic::Rates;
use crate::cost::bound::counts::Counts;
use crate::cost::bound::{BlockShape, BoundMode, OperandLevel};

/// Lanes of a warp.
const WARP: usize = 32;

/// GMRatio from a block's operations and transactions, and from the operations a byte of device memory. The thesis
/// compares a block's operations a byte with the ridge of device memory; corrected, a block's traffic meets the
/// second-level cache's bandwidth, and distinct bytes meet device memory's.
pub(crate) fn global_memory(
    operations: u64,
    transactions: u64,
    device_intensity: f64,
    (arch, rates): (&GpuArch, &Rates),
    mode: BoundMode,
) -> f64 {
    let of_block = intensity(operations, transactions * arch.transaction_bytes.value as u64);
    let peak = rates.operations_per_microsecond;
    let memory = arch.memory_bytes_per_microsecond.value;
    match mode {
        BoundMode::Thesis(_) => (of_block * memory / peak).min(1.0),
        BoundMode::Corrected => {
            let cache = arch.cache_bytes_per_microsecond.value;
            (of_block * cache / peak).min(device_intensity * memory / peak).min(1.0)
        }
    }
}

/// Operations a byte of device memory. They are of the whole problem if its bytes stay in the second-level cache. Else
/// they are of the blocks that run at once, which neighbour each other along the innermost axes. `work` gives
/// operations and distinct bytes of a box.
pub(crate) fn device_intensity(
    whole: &[usize],
    block: &[usize],
    arch: &GpuArch,
    work: impl Fn(&[usize]) -> (u64, u64),
) -> f64 {
    let (operations, bytes) = work(whole);
    if bytes <= arch.cache_bytes.value as u64 {
        return intensity(operations, bytes);
    }
    let mut wave = block.to_vec();
    let mut left = arch.multiprocessors.value;
    for (at, whole) in whole.iter().enumerate().rev() {
        let taken = whole.div_ceil(wave[at]).min(left).max(1);
        left /= taken;
        wave[at] = (wave[at] * taken).min(*whole);
    }
    let (operations, bytes) = work(&wave);
    intensity(operations, bytes)
}

fn intensity(operations: u64, bytes: u64) -> f64 {
    operations as f64 / bytes.max(1) as f64
}

/// SMRatio. The thesis sets operations a load against the latency of one. Corrected (erratum E5), it is the smaller of
/// two bounds. One sets loads against the multiprocessor's shared-memory words a cycle. The other sets latency against
/// the multiply-adds of the block's warps, where the loads of one reduction step do not wait for one another.
pub(crate) fn shared_memory(
    shape: &BlockShape,
    counts: &Counts,
    (arch, rates): (&GpuArch, &Rates),
    mode: BoundMode,
) -> f64 {
    let OperandLevel::Shared { conflict_degree, .. } = &shape.level else { return 1.0 };
    if counts.thread_loads == 0 {
        return 1.0;
    }
    let (operations, loads) = (counts.thread_operations as f64, counts.thread_loads as f64);
    let latency = arch.shared_latency_cycles.value * conflict_degree;
    match mode {
        BoundMode::Thesis(_) => (operations / loads / latency).min(1.0),
        BoundMode::Corrected => {
            let words = arch.shared_bytes_per_cycle.value as f64 / WORD_BYTES as f64;
            let throughput = operations * words / (2.0 * rates.lanes * loads * conflict_degree);
            let steps = loads / counts.loads_a_step.max(1) as f64;
            let busy = (operations / 2.0 / (steps * latency)).min(1.0);
            let warps = shape.threads().div_ceil(WARP) as f64 / arch.schedulers.value as f64;
            throughput.min(warps * busy).min(1.0)
        }
    }
}

/// WBRatio: how full the waves of `blocks` on `multiprocessors` are on average (erratum E6); in (0, 1] for at least one
/// block.
pub fn work_balance(blocks: u64, multiprocessors: u64) -> f64 {
    let slots = blocks.div_ceil(multiprocessors).max(1) * multiprocessors;
    blocks as f64 / slots as f64
}

/// COEF_r: whether one block fits a multiprocessor, limits included (erratum E7).
pub(crate) fn fits(shape: &BlockShape, counts: &Counts, arch: &GpuArch) -> bool {
    let threads = shape.threads();
    threads <= arch.threads_per_block.value
        && counts.shared_bytes <= arch.shared_bytes_per_block.value as u64
        && counts.registers <= arch.registers_per_thread.value as u64
        && counts.registers * threads as u64 <= arch.registers_per_multiprocessor.value as u64
}

/// The fraction that parts of a kernel reach together when they run in turn: Σ operations / Σ (operations / fraction)
/// over `(operations, fraction)` (erratum E12). 0 if a part cannot run; 1 without parts.
pub fn combine(parts: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let (mut operations, mut time) = (0.0, 0.0);
    for (work, fraction) in parts {
        operations += work;
        time += work / fraction;
    }
    if operations == 0.0 { 1.0 } else { operations / time }
}
