//! Tests of graphs, operators and expressions.

mod index;
mod indices;
mod npy;
mod online_softmax;
mod passes;
mod random;
mod robustness;
mod slices;
mod substitution;
mod text;
