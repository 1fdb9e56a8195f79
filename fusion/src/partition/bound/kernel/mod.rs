//! What the kernel of a group does on the device, counted from its expressions and the numbering of its threads: sectors
//! a warp instruction, wavefronts, loads and operations.
//!
//! Unlike the closed forms of [`crate::partition::bound::counts`], which count a block's footprint once, this follows each warp through the
//! template: lanes that share a sector share its transaction, warps do not. The emulator counts the same quantities from
//! the addresses of the emitted kernel.

pub mod attention;
pub mod blocked;
pub mod contraction;
pub mod counts;
pub mod evaluation;
pub mod pointwise;
pub mod row;
pub mod staged;
pub mod tiles;

use crate::partition::bound::kernel::counts::KernelCounts;
use crate::partition::bound::kernel::counts::Sampling;
use crate::partition::bound::kernel::contraction::ContractionModel;
use crate::partition::bound::kernel::staged::phase_counts;
use std::ops::{Add, AddAssign, Mul};

use crate::partition::body::GroupBody;
use crate::partition::params::{ScheduleParams, Template};

/// What the group's kernel does, over all tiles.
pub fn kernel_counts(body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
    match params.template {
        Template::Pointwise { per_thread } => pointwise::counts(body, params, &[], per_thread, sampling),
        Template::Row(threads) => row::counts(body, params, threads, sampling),
        Template::Contraction(shape) => ContractionModel::new(body).counts(params, shape, sampling),
        Template::Staged | Template::Attention { .. } => {
            phase_counts(body, params, sampling).into_iter().fold(KernelCounts::default(), Add::add)
        }
        Template::Opaque => crate::partition::opaque_cost::kernel_counts(body),
        Template::Kept => unreachable!("kept kernels are priced by their rounds"),
    }
}
