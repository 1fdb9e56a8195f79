//! The command line through its binary: results, exit codes, and how it takes bad input.

mod archive;
mod arrays;
mod backends;
mod bundles;
mod calibration;
mod cases;
mod check;
mod constants;
mod errors;
mod explain;
mod indices;
mod inputs;
mod interrupts;
mod lab;
mod litmus;
mod measurements;
mod model_builder;
mod models;
mod models_by_hand;
mod operators;
mod outputs;
mod page;
mod profile;
mod results;
mod tool;
mod tuning;
