//! The command line through its binary: results, exit codes, and how it takes bad input.

mod backends;
mod bundles;
mod cases;
mod check;
mod device_tools;
mod explain;
mod given;
mod interrupts;
mod measuring;
mod models;
mod operators;
mod outputs;
mod passes;
mod pictures;
mod precision;
mod reduce;
mod results;
mod stand_in;
mod support;
mod told;
mod training;
