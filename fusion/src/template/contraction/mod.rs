//! The contraction template: its shapes, what its kernels do and cost.

pub mod cost;
pub mod counts;
pub mod host_tiles;
pub mod shortlist;
