//! The command line of warpweave, for its own program and for others that run its commands in their process.

mod arguments;
mod captured;
mod commands;
mod compiling;
mod culprits;
mod diagnostic;
mod error;
mod interrupt;
mod machine;
mod measuring;
mod models;
mod ops;
mod output;
mod output_kinds;
mod output_paths;
mod program;
mod running;
mod training;
mod usage;

pub use captured::{Captured, capture, interrupt};
pub use commands::{main, main_code};
pub use program::run_by;
