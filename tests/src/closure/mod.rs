//! The brute-force counterpart of the plan verifier: what is accessed, in which order, and whether that does harm.

pub mod accesses;
pub mod judge;
mod order;
