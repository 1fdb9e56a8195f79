//! How much of a kernel's products tensor cores multiply.

use std::ops::AddAssign;

use crate::body::Stage;
use crate::kernel::Kernel;
use crate::template::contraction::{AxisClass, Contraction};

/// Fewest channels of a group that fill an access of tensor cores.
const GROUP_CHANNELS: usize = 8;

/// Multiply-adds of sums of products of two factors: of contractions, and of the scores and weighted sums of attention. Points that
/// tiles compute beyond a tensor's edges, or several times, do not count.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ProductWork {
    /// All.
    pub all: u64,
    /// Those on tensor cores.
    pub on_tensor_cores: u64,
    /// Those on ordinary cores that have a single row or column, or are of a convolution in groups of fewer than 8 channels.
    pub excepted: u64,
}

impl ProductWork {
    /// The work of all tiles of a kernel.
    pub fn of(kernel: &Kernel) -> Self {
        let (body, tensor) = (kernel.body(), kernel.rules().tensor_stages(kernel));
        let staged = body.staged.iter().enumerate().map(|(at, stage)| (stage, tensor.staged.contains(&at)));
        let stages = body.stages.iter().enumerate().map(|(at, stage)| (stage, tensor.lead && at == 0));
        let mut work = Self::default();
        staged.chain(stages).for_each(|(stage, is_tensor)| work += Self::of_stage(stage, is_tensor));
        work
    }

    fn of_stage(stage: &Stage, is_tensor: bool) -> Self {
        let Some(contraction) = Contraction::of_expression(&stage.expr) else { return Self::default() };
        let all = stage.multiply_adds();
        let is_excepted = !is_tensor && is_excepted(stage, &contraction);
        Self { all, on_tensor_cores: if is_tensor { all } else { 0 }, excepted: if is_excepted { all } else { 0 } }
    }

    /// The share of the work on tensor cores, of that which is not excepted; `None` where there is none.
    pub fn tensor_share(&self) -> Option<f64> {
        let judged = self.all - self.excepted;
        (judged > 0).then(|| self.on_tensor_cores as f64 / judged as f64)
    }
}

impl AddAssign for ProductWork {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.on_tensor_cores += other.on_tensor_cores;
        self.excepted += other.excepted;
    }
}

/// Whether a product has a single row or column, or is a convolution, whose reduction has several axes, in small groups.
fn is_excepted(stage: &Stage, contraction: &Contraction) -> bool {
    let extent = |class: AxisClass| -> usize {
        contraction.axes(class).into_iter().map(|axis| stage.expr.axes[axis].extent).product()
    };
    let narrowest = extent(AxisClass::Row).min(extent(AxisClass::Column));
    let is_grouped = extent(AxisClass::Batch) > 1 && stage.expr.reduced().count() > 1;
    narrowest <= 1 || is_grouped && narrowest < GROUP_CHANNELS
}
