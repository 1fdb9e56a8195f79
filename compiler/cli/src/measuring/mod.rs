//! Measuring programs and kernels, and showing what was measured.

pub mod bench;
pub mod bench_text;
pub mod bench_training;
pub mod lab;
pub mod profile;
pub mod profile_text;
pub mod report;
pub mod soak;
pub mod tune;
