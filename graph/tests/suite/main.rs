//! Tests of graphs, operators and expressions.

#[cfg(feature = "ndarray")]
mod arrays;
mod contributed;
mod factors;
mod legible;
mod not_finite;
mod npy;
mod online_softmax;
mod passes;
mod procedure;
mod program_passes;
mod program_text;
mod random;
mod reads;
mod resize;
mod robustness;
mod storage;
mod substitution;
mod tensors;
mod text;
mod windows;
