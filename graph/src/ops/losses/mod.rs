//! Losses.

pub(in crate::ops) mod likelihood;

pub mod negative_log_likelihood_loss;
pub mod softmax_cross_entropy_loss;
