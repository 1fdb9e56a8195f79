//! What kernels cost: one folder a template, under the name that it has in the plan.

pub mod attention;
pub mod candidates;
pub mod contraction;
pub mod opaque;
pub mod pointwise;
pub mod pricing;
pub mod row;
pub mod staged;
pub mod variants;
pub mod weight_stationary;

use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::Opaque;
use warpweave_plan::template::Staged;
use warpweave_plan::template::Template;
use warpweave_plan::template::WeightStationary;

use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::pricing::Pricing;

/// What the kernels of a template cost.
pub fn pricing(template: &Template) -> &dyn Pricing {
    match template {
        Template::Pointwise(own) => own,
        Template::Row(own) => own,
        Template::WeightStationary => &WeightStationary,
        Template::Contraction(own) => own,
        Template::Staged => &Staged,
        Template::Attention(own) => own,
        Template::Opaque => &Opaque,
    }
}

/// What the group's kernel does, over all tiles.
///
/// Unlike the closed forms of [`crate::cost::bound::counts`], which count a block's footprint once, this follows each warp
/// through the template: lanes that share a sector share its transaction, warps do not. The emulator counts the same
/// quantities from the addresses of the emitted kernel.
pub fn kernel_counts(kernel: &Kernel, sampling: Sampling) -> KernelCounts {
    pricing(kernel.template()).counts(kernel, sampling)
}
