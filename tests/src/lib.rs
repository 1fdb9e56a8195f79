//! The harness of the suites over all crates: sample programs, a plain evaluator, the emulator as a machine to run
//! compiled programs on, and suites with a time budget.

pub mod closure;
pub mod doubles;
pub mod evaluate;
pub mod execute;
pub mod gates;
pub mod machine;
pub mod models;
pub mod pipeline;
pub mod printed;
pub mod program_text;
pub mod random;
pub mod samples;
pub mod scans;
pub mod sketch;
pub mod storage;
pub mod stored;
pub mod suite;
