//! Tests of graphs, operators and expressions.

mod common_reductions;
mod contributed;
mod factors;
mod not_finite;
mod npy;
mod online_softmax;
mod passes;
mod phases;
mod procedure;
mod program_text;
mod quantized_products;
mod random;
mod reads;
mod robustness;
mod sorted_keys;
mod storage;
mod substitution;
mod text;
mod windows;
