//! Operators of the domain `com.microsoft` that are others under another name, or stand for a few others.
//!
//! Their source is ONNX Runtime's `docs/ContribOperators.md`.

mod delegate;

pub mod bias_add;
pub mod bias_split_gelu;
pub mod cdist;
pub mod contributed_dequantize_linear;
pub mod contributed_gather_nd;
pub mod contributed_grid_sample;
pub mod contributed_pad;
pub mod contributed_qlinear_conv;
pub mod contributed_quantize_linear;
pub mod contributed_trilu;
pub mod expand_dims;
pub mod gemm_fast_gelu;
pub mod qgemm;
pub mod qlinear_reduce_mean;
pub mod qlinear_where;
pub mod transpose_matmul;
