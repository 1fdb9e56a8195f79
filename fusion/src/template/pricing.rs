//! What a template's kernels do and cost.

use warpweave_graph::expr::TensorExpr;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::contraction::AxisClass;

use crate::cost::arch::GpuArch;
use crate::cost::arithmetic::Rates;
use crate::cost::bound::BlockShape;
use crate::cost::counts::{KernelCounts, Sampling};
use crate::cost::cpu::Processor;

/// rTasks over which a tile's cycles spread the beginning of a call: how many it runs is known only once rTasks are placed.
pub const CALL_STEPS: f64 = 16.0;

/// Cycles that a tile takes less in a stream than as a node, where a template says nothing else.
const STREAM_SAVING_CYCLES: f64 = 40.0;

/// What the kernels of a template do and cost. Each template answers in its own folder.
pub trait Pricing {
    /// What the kernel of a body does, over all tiles.
    fn counts(&self, kernel: &Kernel, sampling: Sampling) -> KernelCounts;

    /// The counts that the price of the kernel follows from.
    fn priced_counts(&self, kernel: &Kernel) -> KernelCounts {
        self.counts(kernel, Sampling::COARSE)
    }

    /// Cycles of one tile on a multiprocessor of its own, while the others that have tiles run theirs.
    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64;

    /// Cycles that a call takes once where it may run several rTasks one after another; of those of a tile, a [`CALL_STEPS`]th.
    fn call_cycles(&self, _: &CountedKernel<'_>) -> f64 {
        0.0
    }

    /// Cycles that a tile takes less where a stream calls the kernel than where it is a node.
    fn stream_saving_cycles(&self) -> f64 {
        STREAM_SAVING_CYCLES
    }

    /// Of a tile's cycles, those in which the first steps of the factors of `sides` arrive.
    fn prefetched_cycles(&self, _: &CountedKernel<'_>, _sides: &[AxisClass]) -> f64 {
        0.0
    }

    /// How a block and a thread divide the points of a stage, for the performance upper bound; `None` where the bound follows
    /// the kernel's phases instead.
    fn block_shape(&self, kernel: &Kernel, stage: usize) -> Option<BlockShape>;

    /// Microseconds of one tile on a core of a processor.
    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64;
}

/// A kernel whose tiles are priced.
pub struct CountedKernel<'k> {
    pub arch: &'k GpuArch,
    pub kernel: &'k Kernel,
    /// What it does over all tiles, where its price follows from that.
    pub counts: KernelCounts,
}

impl<'k> CountedKernel<'k> {
    /// A kernel whose price does not follow from what is counted.
    pub fn uncounted(arch: &'k GpuArch, kernel: &'k Kernel) -> Self {
        Self { arch, kernel, counts: KernelCounts::default() }
    }

    /// What its arithmetic reaches.
    pub fn rates(&self) -> Rates {
        self.arch.rates_of(self.kernel)
    }

    /// The number of tiles.
    pub fn tiles(&self) -> f64 {
        self.kernel.tiles().max(1) as f64
    }

    /// Cycles that sectors take into, or out of, one multiprocessor; all sectors of the grid are given.
    pub fn transfer(&self, sectors: f64) -> f64 {
        let tiles = self.kernel.tiles().max(1);
        self.arch.cycles_of_bytes(sectors / self.tiles() * self.arch.transaction_bytes.value as f64, tiles)
    }
}

/// Points of a reduction.
pub(crate) fn reduced(expr: &TensorExpr) -> f64 {
    expr.reduced().map(|axis| expr.axes[axis].extent as f64).product()
}
