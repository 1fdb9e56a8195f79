//! The bound of a kernel from what it does, followed through its template.

use crate::cost::arch::GpuArch;
use crate::cost::arithmetic::Rates;
use crate::cost::bound::ratios::work_balance;
use crate::cost::bound::{BoundMode, PerformanceUpperBound};
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::kernel_counts;
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_plan::kernel::Kernel;

/// Whether bringing operands and computing go on at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// The slower of the two counts.
    Together,
    /// Both count.
    InTurn,
}

/// The bound in corrected mode: `useful` operations against the traffic, the loads from shared memory and the operations,
/// repeated ones included, that a kernel of this many tiles takes.
pub fn counted_bound(
    counts: &KernelCounts,
    useful: f64,
    tiles: usize,
    overlap: Overlap,
    (arch, rates): (&GpuArch, &Rates),
) -> PerformanceUpperBound {
    let bytes = (counts.load_sectors + counts.store_sectors) * arch.transaction_bytes.value as f64;
    let peak = rates.operations_per_microsecond;
    let global = (useful / bytes * arch.cache_bytes_per_microsecond.value / peak).min(1.0);
    let words = arch.shared_bytes_per_cycle.value as f64 / WORD_BYTES as f64;
    let loads = counts.shared_loads * counts.conflict_degree();
    let shared = (useful * words / (2.0 * rates.lanes * loads)).min(1.0);
    let shared = shared.min(useful / (counts.operations + counts.integer_operations));
    let balance = work_balance(tiles as u64, arch.multiprocessors.value as u64);
    PerformanceUpperBound::new(BoundMode::Corrected, [global, shared, balance], true, overlap == Overlap::Together)
}

/// The bound of a group at shared-memory level. Its phases run in turn, but a phase fetches while it computes.
pub(crate) fn staged_bound(kernel: &Kernel, arch: &GpuArch) -> PerformanceUpperBound {
    let counts = kernel_counts(kernel, Sampling::COARSE);
    let useful = kernel.body().operations() as f64;
    let bound = counted_bound(&counts, useful, kernel.tiles(), Overlap::Together, (arch, &arch.rates_of(kernel)));
    let fits = kernel.rules().box_bytes(kernel).is_some_and(|bytes| bytes <= arch.shared_bytes_per_block.value);
    if fits { bound } else { bound.without_resources() }
}
