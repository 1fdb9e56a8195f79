//! The operators of the domain `ai.onnx.preview.training`: optimisers.

mod optimizer;

pub mod adagrad;
pub mod adam;
pub mod momentum;

pub const DOMAIN: &str = "ai.onnx.preview.training";
