//! The command line of warpweave, for its own program and for others that run its commands in their process.

mod arguments;
mod captured;
mod commands;
mod compiling;
mod culprits;
mod diagnostic;
mod error;
mod help;
mod interrupt;
mod machine;
mod measuring;
mod models;
mod ops;
mod output;
mod output_kinds;
mod output_paths;
mod running;
mod started_by;
mod terminal;
mod training;

pub use captured::{Captured, capture, end_early};
pub use commands::{main, main_code};
pub use output::StageWatcher;
pub use started_by::run_by;
