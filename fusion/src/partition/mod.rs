//! Which statements share a kernel, and with which parameters (DeepCuts).

pub mod build;
pub mod search;
pub mod split;
pub mod text;
