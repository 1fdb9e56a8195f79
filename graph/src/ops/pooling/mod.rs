//! Pooling over windows and over all points.

pub(in crate::ops) mod pool;

pub mod average_pool;
pub mod global_average_pool;
pub mod global_lp_pool;
pub mod global_max_pool;
pub mod lp_pool;
pub mod max_pool;
pub mod max_unpool;
