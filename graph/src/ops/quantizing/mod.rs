//! Between numbers and their quantised values.

pub(in crate::ops) mod quantization;

pub mod dequantize_linear;
pub mod dynamic_quantize_linear;
pub mod quantize_linear;
