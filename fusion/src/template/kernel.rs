//! A kernel whose tiles are priced.

use crate::cost::arch::GpuArch;
use crate::cost::arithmetic::Rates;
use crate::cost::counts::KernelCounts;
use warpweave_graph::expr::TensorExpr;
use warpweave_plan::kernel::Kernel;

/// A kernel whose tiles are priced.
pub struct CountedKernel<'k> {
    /// The device.
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
