//! A kernel whose tiles are priced.

use crate::cost::arch::GpuArch;
use crate::cost::arithmetic::Rates;
use crate::cost::counts::KernelCounts;
use warpweave_graph::expr::TensorExpr;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::tile::ScheduleParams;

/// A kernel whose tiles are priced.
pub struct Kernel<'k> {
    /// The device.
    pub arch: &'k GpuArch,
    /// What it computes.
    pub body: &'k GroupBody,
    /// Under which parameters.
    pub params: &'k ScheduleParams,
    /// What it does over all tiles, where its price follows from that.
    pub counts: KernelCounts,
}

impl<'k> Kernel<'k> {
    /// A kernel whose price does not follow from what is counted.
    pub fn uncounted(arch: &'k GpuArch, body: &'k GroupBody, params: &'k ScheduleParams) -> Self {
        Self { arch, body, params, counts: KernelCounts::default() }
    }

    /// What its arithmetic reaches.
    pub fn rates(&self) -> Rates {
        self.arch.rates_of(self.body, self.params)
    }

    /// The number of tiles.
    pub fn tiles(&self) -> f64 {
        self.params.tiles(self.body).max(1) as f64
    }

    /// Cycles that sectors take into, or out of, one multiprocessor; all sectors of the grid are given.
    pub fn transfer(&self, sectors: f64) -> f64 {
        let tiles = self.params.tiles(self.body).max(1);
        self.arch.cycles_of_bytes(sectors / self.tiles() * self.arch.transaction_bytes.value as f64, tiles)
    }
}

/// Points of a reduction.
pub(crate) fn reduced(expr: &TensorExpr) -> f64 {
    expr.reduced().map(|axis| expr.axes[axis].extent as f64).product()
}
