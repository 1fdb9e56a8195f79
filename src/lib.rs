//! warpweave compiles whole ONNX graphs ahead of time into persistent GPU programs.
//!
//! The façade over the crates: a model comes in, a verified plan and its program come out.

pub mod compiler;

pub use warpweave_codegen as codegen;
pub use warpweave_frontend as frontend;
pub use warpweave_fusion as fusion;
pub use warpweave_graph as graph;
pub use warpweave_runtime as runtime;
