//! What each step does, a file a part of the record.

mod correctness;
mod counters;
mod cycles;
mod machine;
mod models;
mod peers;
pub mod perform;
