//! Attention, and what rotates its keys and queries or keeps them.

pub(in crate::ops) mod dot_product_attention;
pub(in crate::ops) mod rotary;

pub mod attention;
pub mod flex_attention;
pub mod linear_attention;
pub mod rotary_embedding;
pub mod tensor_scatter;
