//! The contraction template: its shapes, what its kernels do and cost.

pub mod cost;
pub mod counts;
mod factor_loads;
pub mod host_tiles;
pub mod known;
pub mod shortlist;
