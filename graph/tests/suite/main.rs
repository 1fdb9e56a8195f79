//! Tests of graphs, operators and expressions.

mod index;
mod passes;
mod random;
mod robustness;
mod slices;
mod substitution;
mod text;
