//! Tensor cores: what they compute, and which lane of a warp holds which element.

pub mod fragment;
pub mod sum;
