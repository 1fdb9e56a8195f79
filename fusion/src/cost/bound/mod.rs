//! DeepCuts' performance upper bound: the largest fraction of peak arithmetic that a kernel can reach. It follows from
//! the footprints of its tensor expression on the boxes of a block and a thread.

pub mod conflicts;
pub mod counts;
pub mod footprint;
pub mod group;
pub mod ratios;

use crate::cost::bound::ratios::work_balance;
use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::expr::TensorExpr;

use crate::cost::arch::GpuArch;
use crate::cost::arithmetic::Rates;
use crate::cost::bound::counts::Counts;
use crate::cost::counts::KernelCounts;
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_plan::template::contraction::unit::ComputeUnit;

/// How long a window's input is taken to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum InputExtent {
    /// As the thesis prints it, ⌊(h + F − 2P) / S⌋ + 1: wrong, and kept to show by how much (erratum E1 off).
    Printed,
    /// What is read (erratum E1).
    Exact,
}

/// Which model the bound follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum BoundMode {
    /// The thesis: errata E2, E6 and E7 applied, E1 by choice, the rest as printed; the product of the four factors.
    Thesis(InputExtent),
    /// Errata E1–E8 and E11–E12 applied: stores count, runs are contiguous, global memory has two levels, and stages
    /// that overlap are bounded by the slower one.
    #[default]
    Corrected,
}

impl BoundMode {
    pub(crate) fn input_extent(self) -> InputExtent {
        match self {
            Self::Thesis(extent) => extent,
            Self::Corrected => InputExtent::Exact,
        }
    }
}

/// How threads get at operands.
#[derive(Clone, PartialEq, Debug)]
pub enum OperandLevel {
    /// From global memory straight into registers: there is no shared-memory stage.
    Registers,
    /// Through shared memory, a slice of the reduction at a time.
    Shared {
        /// The extents of a slice along the reduced axes, in order (C_input and its like).
        slice: Vec<usize>,
        /// Whether the next slice is fetched while this one is computed with.
        overlapped: bool,
        /// Wavefronts a load from shared memory against the ideal (COEF_bc), 1 without bank conflicts.
        conflict_degree: f64,
    },
}

/// How a kernel divides an expression's points.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockShape {
    /// The extents of a block's box, one an axis, reduced axes included.
    pub block: Vec<usize>,
    /// The extents of a thread's box, one an axis; the block has as many threads as boxes of these fill its own.
    pub thread: Vec<usize>,
    /// How threads get at operands.
    pub level: OperandLevel,
}

impl BlockShape {
    /// Boxes over the parallel axes; every thread walks the whole reduction (erratum E2: C_b = C_t = C).
    pub fn over_parallel(expr: &TensorExpr, block: &[usize], thread: &[usize], level: OperandLevel) -> Self {
        let with_reduction = |extents: &[usize]| -> Vec<usize> {
            let reduced = expr.reduced().map(|axis| expr.axes[axis].extent);
            extents.iter().copied().chain(reduced).collect()
        };
        Self { block: with_reduction(block), thread: with_reduction(thread), level }
    }

    /// Threads of a block.
    pub fn threads(&self) -> usize {
        self.block.iter().zip(&self.thread).map(|(block, thread)| block.div_ceil(*thread)).product()
    }
}

/// What keeps a kernel from the peak.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum LimitingFactor {
    /// Threads, shared memory or registers do not fit a multiprocessor.
    Resources,
    /// Bytes between the multiprocessors and the second-level cache or device memory.
    GlobalMemory,
    /// Loads from shared memory: their throughput, or their latency with the warps that there are.
    SharedMemory,
    /// Multiprocessors that have no block in the last wave.
    WorkBalance,
    /// Nothing but arithmetic: the bound is 1.
    Arithmetic,
}

impl fmt::Display for LimitingFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resources => "resources",
            Self::GlobalMemory => "global memory",
            Self::SharedMemory => "shared memory",
            Self::WorkBalance => "work balance",
            Self::Arithmetic => "arithmetic",
        })
    }
}

/// The bound and its factors, each in 0 … 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PerformanceUpperBound {
    /// The largest fraction of peak arithmetic that the kernel can reach (PUL).
    pub fraction: f64,
    /// GMRatio.
    pub global_memory: f64,
    /// SMRatio.
    pub shared_memory: f64,
    /// WBRatio.
    pub work_balance: f64,
    /// COEF_r: whether a block fits a multiprocessor.
    pub fits: bool,
    /// The smallest factor.
    pub limit: LimitingFactor,
}

impl PerformanceUpperBound {
    fn new(mode: BoundMode, factors: [f64; 3], fits: bool, overlapped: bool) -> Self {
        let [global_memory, shared_memory, work_balance] = factors;
        let fraction = match mode {
            BoundMode::Thesis(_) => global_memory * shared_memory * work_balance,
            BoundMode::Corrected if overlapped => work_balance * global_memory.min(shared_memory),
            BoundMode::Corrected => work_balance / (1.0 / global_memory + 1.0 / shared_memory - 1.0),
        };
        let named = [
            (global_memory, LimitingFactor::GlobalMemory),
            (shared_memory, LimitingFactor::SharedMemory),
            (work_balance, LimitingFactor::WorkBalance),
            (1.0, LimitingFactor::Arithmetic),
        ];
        let smallest = named.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are factors");
        let (fraction, limit) = if fits { (fraction, smallest.1) } else { (0.0, LimitingFactor::Resources) };
        Self { fraction, global_memory, shared_memory, work_balance, fits, limit }
    }

    /// The bound of a kernel that does not fit a multiprocessor.
    fn without_resources(self) -> Self {
        Self { fraction: 0.0, fits: false, limit: LimitingFactor::Resources, ..self }
    }
}

/// The bound of one expression under a shape on the lanes of multiprocessors.
pub fn upper_bound(expr: &TensorExpr, shape: &BlockShape, arch: &GpuArch, mode: BoundMode) -> PerformanceUpperBound {
    let counts = Counts::of(expr, shape, arch, mode);
    let device = (arch, &arch.rates(ComputeUnit::Simt, expr.numerics().compute));
    let whole: Vec<usize> = expr.axes.values().map(|axis| axis.extent.max(1)).collect();
    let work = |extents: &[usize]| (counts::operations(expr, extents), counts::unique_bytes(expr, extents));
    let intensity = ratios::device_intensity(&whole, &shape.block, arch, work);
    let transactions = counts.load_transactions + counts.store_transactions;
    let factors = [
        ratios::global_memory(counts.block_operations, transactions, intensity, device, mode),
        ratios::shared_memory(shape, &counts, device, mode),
        work_balance(counts.blocks, arch.multiprocessors.value as u64),
    ];
    PerformanceUpperBound::new(mode, factors, ratios::fits(shape, &counts, arch), overlaps(&shape.level))
}

/// Whether the stages of a kernel overlap. Without a shared-memory stage there is nothing to wait for in turn.
fn overlaps(level: &OperandLevel) -> bool {
    match level {
        OperandLevel::Registers => true,
        OperandLevel::Shared { overlapped, .. } => *overlapped,
    }
}

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
    let started = rates.lanes.max(rates.multiply_adds_per_cycle);
    let shared = (useful * words / (2.0 * started * loads)).min(1.0);
    let shared = shared.min(useful / (counts.operations + counts.integer_operations));
    let balance = work_balance(tiles as u64, arch.multiprocessors.value as u64);
    PerformanceUpperBound::new(BoundMode::Corrected, [global, shared, balance], true, overlap == Overlap::Together)
}

/// A stage's box: the tile by all its other axes whole.
pub(crate) fn extents(expr: &TensorExpr, tile: &[usize]) -> Vec<usize> {
    let rest = expr.axes.values().skip(tile.len()).map(|axis| axis.extent.max(1));
    tile.iter().copied().chain(rest).collect()
}
