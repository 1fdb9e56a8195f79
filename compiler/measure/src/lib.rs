//! Measuring: programs on devices, kernels for the search, the constants of GPUs and processors, and the record of a GPU.

pub mod bench;
pub mod calibrate;
pub mod lab;
pub mod litmus;
pub mod microbench;
mod processor_caches;
pub mod profile;
pub mod report;
pub mod tune;
