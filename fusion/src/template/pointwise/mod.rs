//! The pointwise template: what its kernels do and cost.

mod computed;
pub mod cost;
pub mod counts;
mod fetched;
