//! Operators over quantised tensors.

pub mod contributed_dequantize_linear;
pub mod contributed_quantize_linear;
pub mod dynamic_quantize_lstm;
pub mod dynamic_quantize_matmul;
pub mod gather_block_quantized;
pub mod matmul_integer_to_float;
pub mod matmul_nbits;
mod packed;
