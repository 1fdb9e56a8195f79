//! The weight-stationary template: rows of constants stay in shared memory for the whole launch.

pub mod reads;
pub mod rules;
