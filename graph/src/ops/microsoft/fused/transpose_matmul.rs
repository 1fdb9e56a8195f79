//! `com.microsoft.TransposeMatMul`: a scaled matrix product of transposed operands.

use crate::ops::microsoft::delegate::delegate;
use crate::ops::microsoft::fused_matmul::FusedMatMul;

delegate!(
    /// As [`FusedMatMul`].
    TransposeMatMul,
    "TransposeMatMul",
    FusedMatMul
);
