//! The operators that read and give quantised tensors: ONNX's own, and those of the domain `com.microsoft`.
//!
//! The source of the latter is ONNX Runtime's `docs/ContribOperators.md`.

mod integer;
pub(in crate::ops) mod tensor;

pub mod contributed_qlinear_conv;
pub mod qgemm;
pub mod qlinear_add;
pub mod qlinear_average_pool;
pub mod qlinear_concat;
pub mod qlinear_conv;
pub mod qlinear_global_average_pool;
pub mod qlinear_leaky_relu;
pub mod qlinear_matmul;
pub mod qlinear_mul;
pub mod qlinear_reduce_mean;
pub mod qlinear_sigmoid;
pub mod qlinear_softmax;
pub mod qlinear_where;
