//! Training steps: taking them, and what comes of them.

pub mod batches;
pub mod export_weights;
pub mod loss_curve;
pub mod schedule;
pub mod train;
