//! What this machine offers.

pub mod doctor;
pub mod litmus;
pub mod microbench;
pub mod selftest;
