//! Which operations exist on which types, and what they give.

use crate::kernel_ir::{BinaryOp, ScalarType, UnaryOp};

use super::scalar::{narrow_binary, narrow_unary, wide_binary, wide_compare, wide_unary};

/// The type of `op` on a `scalar`, `None` where it is not defined.
pub fn unary_result(op: UnaryOp, scalar: ScalarType) -> Option<ScalarType> {
    let is_defined = match scalar {
        ScalarType::I64 => wide_unary(op).is_some(),
        ScalarType::Bool | ScalarType::I32 | ScalarType::F32 => narrow_unary(op, scalar).is_some(),
    };
    let result = match op {
        UnaryOp::Bits => ScalarType::I32,
        UnaryOp::OfBits => ScalarType::F32,
        _ => scalar,
    };
    is_defined.then_some(result)
}

/// The type of `op` on two values of type `scalar`, `None` where it is not defined.
pub fn binary_result(op: BinaryOp, scalar: ScalarType) -> Option<ScalarType> {
    let defined = match scalar {
        ScalarType::I64 => wide_binary(op).is_some() || wide_compare(op).is_some(),
        ScalarType::Bool | ScalarType::I32 | ScalarType::F32 => narrow_binary(op, scalar).is_some(),
    };
    let result = match op {
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Equal => ScalarType::Bool,
        _ => scalar,
    };
    defined.then_some(result)
}
