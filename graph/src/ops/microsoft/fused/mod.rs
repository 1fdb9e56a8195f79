//! Several operators of ONNX in one: biases, activations and normalisations with what they follow.

mod activation;

pub mod bias_add;
pub mod bias_gelu;
pub mod bias_split_gelu;
pub mod embed_layer_normalization;
pub mod exact_gelu;
pub mod fast_gelu;
pub mod fused_conv;
pub mod fused_gemm;
pub mod fused_matmul;
pub mod gemm_fast_gelu;
pub mod quick_gelu;
pub mod skip_layer_normalization;
pub mod skip_simplified_layer_normalization;
pub mod transpose_matmul;
