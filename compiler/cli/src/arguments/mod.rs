//! Arguments that several commands share, and what they stand for.

pub mod arrays;
pub mod import;
pub mod inputs;
pub mod passes;
pub mod precision;
pub mod program;
pub mod search;
pub mod training;
pub mod verbosity;
