//! The `warpweave` command line.
fn main() {}
