//! Attention, and the heads that it consists of.

mod cached_heads;
mod heads;

pub mod group_query_attention;
pub mod multi_head_attention;
pub mod projected_attention;
pub mod quantized_attention;
pub mod rotary_embedding_at;
