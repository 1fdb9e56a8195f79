//! Rewrites of graphs: one pass a file.

pub mod constant_folding;
