//! What the command line tells: errors, help, and how much beside results.

mod errors;
mod file_system;
mod help;
