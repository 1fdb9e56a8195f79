//! Which operators share a kernel, with which parameters; on which virtual execution unit, and when.

pub mod cost;
pub mod partition;
pub mod schedule;
pub mod template;
pub mod tuning;
