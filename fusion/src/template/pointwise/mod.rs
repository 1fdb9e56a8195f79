//! The pointwise template: what its kernels do and cost.

pub mod cost;
pub mod counts;
mod fetched;
