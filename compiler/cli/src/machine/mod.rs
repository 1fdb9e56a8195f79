//! What this machine offers.

pub mod device_tools;
pub mod doctor;
pub mod litmus;
pub mod microbench;
pub mod selftest;
