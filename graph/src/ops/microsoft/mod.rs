//! The operators of the domain `com.microsoft`, into which ONNX Runtime and its tools fuse and quantise models.
//!
//! Their source is ONNX Runtime's `docs/ContribOperators.md`. The domain has one version.

mod activation;
mod cached_heads;
mod delegate;
mod heads;

pub mod bias_add;
pub mod bias_gelu;
pub mod bias_split_gelu;
pub mod cdist;
pub mod contributed_dequantize_linear;
pub mod contributed_gather_nd;
pub mod contributed_grid_sample;
pub mod contributed_pad;
pub mod contributed_quantize_linear;
pub mod contributed_trilu;
pub mod dynamic_quantize_lstm;
pub mod dynamic_quantize_matmul;
pub mod embed_layer_normalization;
pub mod exact_gelu;
pub mod expand_dims;
pub mod fast_gelu;
pub mod fused_conv;
pub mod fused_gemm;
pub mod fused_matmul;
pub mod gemm_fast_gelu;
pub mod group_query_attention;
pub mod matmul_integer_to_float;
pub mod matmul_nbits;
pub mod multi_head_attention;
pub mod nhwc_max_pool;
pub mod projected_attention;
pub mod quantized_attention;
pub mod quick_gelu;
pub mod rotary_embedding_at;
pub mod skip_layer_normalization;
pub mod skip_simplified_layer_normalization;
pub mod transpose_matmul;

/// The domain.
pub const DOMAIN: &str = "com.microsoft";
