//! What the kernel of a group does on the device, counted from its expressions and the numbering of its threads: sectors
//! a warp instruction, wavefronts, loads and operations.
//!
//! Unlike the closed forms of [`crate::cost::bound::counts`], which count a block's footprint once, this follows each warp through the
//! template: lanes that share a sector share its transaction, warps do not. The emulator counts the same quantities from
//! the addresses of the emitted kernel.

pub mod attention;
pub mod candidates;
pub mod contraction;
pub mod opaque;
pub mod pointwise;
pub mod row;
pub mod staged;
pub mod variants;

use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::template::contraction::counts::ContractionModel;
use crate::template::staged::counts::phase_counts;
use std::ops::Add;

use warpweave_plan::body::GroupBody;
use warpweave_plan::template::{ScheduleParams, Template};

/// What the group's kernel does, over all tiles.
pub fn kernel_counts(body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
    match params.template {
        Template::Pointwise { per_thread } => pointwise::counts::counts(body, params, &[], per_thread, sampling),
        Template::Row(threads) => row::counts::counts(body, params, threads, sampling),
        Template::Contraction(shape) => ContractionModel::new(body).counts(params, shape, sampling),
        Template::Staged | Template::Attention { .. } => {
            phase_counts(body, params, sampling).into_iter().fold(KernelCounts::default(), Add::add)
        }
        Template::Opaque => opaque::kernel_counts(body),
        Template::Kept => unreachable!("kept kernels are priced by their rounds"),
    }
}
