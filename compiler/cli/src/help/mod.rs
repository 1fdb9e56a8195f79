//! What the program says of itself and of its command line.

pub mod completions;
pub mod manual;
pub mod usage;
pub mod version;
pub mod width;
