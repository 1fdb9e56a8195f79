//! Tests of graphs, operators and expressions.

mod bounds;
mod contributed;
mod counts;
mod factors;
mod gathers;
mod index;
mod indices;
mod npy;
mod online_softmax;
mod passes;
mod procedure;
mod program_text;
mod quantized_products;
mod random;
mod robustness;
mod slices;
mod storage;
mod substitution;
mod text;
