//! Warps: what each instruction does, and which warp runs next.

pub mod access;
pub mod copies;
mod element;
pub mod execute;
mod indices;
pub mod lanes;
mod matrices;
pub mod presets;
pub mod schedule;
pub mod statistics;
mod synchronise;
mod tagged_value;
