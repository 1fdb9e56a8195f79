//! The operators of the domain `com.microsoft`, into which ONNX Runtime and its tools fuse and quantise models.
//!
//! Their source is ONNX Runtime's `docs/ContribOperators.md`. The domain has one version.

mod activation;
mod cached_heads;
mod heads;

pub mod bias_gelu;
pub mod dynamic_quantize_lstm;
pub mod dynamic_quantize_matmul;
pub mod embed_layer_normalization;
pub mod exact_gelu;
pub mod fast_gelu;
pub mod fused_conv;
pub mod fused_gemm;
pub mod fused_matmul;
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

/// The domain.
pub const DOMAIN: &str = "com.microsoft";
