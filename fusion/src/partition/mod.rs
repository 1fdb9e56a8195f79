//! Which statements share a kernel, and with which parameters (DeepCuts).

mod align;
pub mod body;
pub mod build;
pub mod merge_axes;

pub use body::{GroupBody, Stage, StageSource};
