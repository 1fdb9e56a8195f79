//! The staged template: what its kernels do and cost.

pub mod blocked;
pub mod cost;
pub mod counts;
pub mod matrices;
