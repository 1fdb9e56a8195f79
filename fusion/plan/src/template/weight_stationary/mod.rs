//! The weight-stationary template: rows of constants stay on chip for the whole launch.

pub mod passes;
pub mod reads;
pub mod rules;
