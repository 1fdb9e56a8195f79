//! What follows from the streams of a plan.

pub mod completion;
pub mod fold;
pub mod polls;
pub mod prefetch;
pub mod residency;
pub mod waits;
