//! rTasks on virtual execution units: plans, their verification and their tables.

pub mod choice;
pub mod dependence;
pub mod memory;
pub mod options;
pub mod placement;
pub mod policy;
pub mod simulation;
pub mod streams;
