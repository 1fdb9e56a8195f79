//! rTasks on virtual execution units: plans, their verification and their tables.

pub mod tables;
