//! Expressions and statements that several templates write.

use crate::kernel_ir::expression::BinaryOp;
use crate::kernel_ir::expression::Expression;
use crate::kernel_ir::expression::ScalarType;
use crate::kernel_ir::ids::ArrayId;
use crate::kernel_ir::memory::Width;
use crate::kernel_ir::statement::Place;
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::add;
use crate::lower::emitter::binary;
use crate::lower::emitter::multiply;

pub(crate) fn set(array: ArrayId, index: Expression, value: Expression) -> Statement {
    Statement::Assign { place: Place::Element(array, index), value }
}

/// What sums begin with.
pub(crate) fn zero(scalar: ScalarType) -> Expression {
    match scalar {
        ScalarType::F32 => Expression::f32(0.0),
        ScalarType::Bool | ScalarType::I32 | ScalarType::I64 => Expression::i32(0),
    }
}

/// The access of 1, 2 or 4 elements.
pub(crate) fn access(width: usize) -> Width {
    match width {
        1 => Width::One,
        2 => Width::Two,
        _ => Width::Four,
    }
}

/// `value · factor`; of a sum, addend by addend, so that what is known when a loop is unrolled stands by itself.
pub(crate) fn scaled(value: Expression, factor: usize) -> Expression {
    match value {
        value if factor == 1 => value,
        Expression::Binary(BinaryOp::Add, left, right) => add(scaled(*left, factor), scaled(*right, factor)),
        value => multiply(value, Expression::i32(factor as i32)),
    }
}

/// `value / divisor` of values that are not negative. A divisor that is no power of two is for variables of unrolled loops.
pub(crate) fn quotient(value: impl Into<Expression>, divisor: usize) -> Expression {
    match divisor {
        1 => value.into(),
        _ if divisor.is_power_of_two() => binary(BinaryOp::ShiftRight, value, Expression::i32(divisor.ilog2() as i32)),
        _ => binary(BinaryOp::Divide, value, Expression::i32(divisor as i32)),
    }
}

/// `value mod divisor`, as [`quotient`].
pub(crate) fn remainder(value: impl Into<Expression>, divisor: usize) -> Expression {
    match divisor.is_power_of_two() {
        true => binary(BinaryOp::BitAnd, value, Expression::i32(divisor as i32 - 1)),
        false => binary(BinaryOp::Remainder, value, Expression::i32(divisor as i32)),
    }
}
