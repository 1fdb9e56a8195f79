//! Tests of graphs, operators and expressions.

mod index;
mod passes;
mod random;
mod robustness;
mod substitution;
mod text;
