//! Memories that know who may see what.

pub mod global;
pub mod readers;
pub mod shared;
