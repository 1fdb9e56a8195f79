//! The operators of the domain `com.microsoft`, into which ONNX Runtime and its tools fuse and quantise models.
//!
//! Their source is ONNX Runtime's `docs/ContribOperators.md`. The domain has one version.

mod attention;
mod delegate;
mod fused;
mod quantized;

pub mod cdist;
pub mod contributed_gather_nd;
pub mod contributed_grid_sample;
pub mod contributed_pad;
pub mod contributed_trilu;
pub mod expand_dims;
pub mod nhwc_max_pool;

pub use attention::*;
pub use fused::*;
pub use quantized::*;

pub const DOMAIN: &str = "com.microsoft";
