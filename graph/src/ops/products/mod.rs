//! Products and determinants of matrices.

pub mod det;
pub mod einsum;
pub mod gemm;
pub mod matmul;
pub mod matmul_integer;
