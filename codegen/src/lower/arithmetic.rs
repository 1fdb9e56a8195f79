//! Types, expressions and statements that several templates write.

use warpweave_graph::expr::Literal;
use warpweave_graph::{ElementType, minifloat};

use crate::kernel_ir::expression::{BinaryOp, Constant, Expression, ScalarType};
use crate::kernel_ir::ids::ArrayId;
use crate::kernel_ir::memory::Width;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add, binary, multiply};
use crate::lower::error::LowerError;

/// The register type of an element type.
pub(crate) fn scalar_type(emitter: &Emitter, element: ElementType) -> Result<ScalarType, LowerError> {
    emitter.memory_type(element).map(|memory| memory.scalar_type())
}

/// A literal of a register type.
pub(crate) fn emit_literal(emitter: &Emitter, literal: Literal) -> Result<Expression, LowerError> {
    let element = literal.element();
    if element.is_storage() && element.is_float() {
        return Ok(Expression::i32(i32::from(minifloat::encode(element, literal.to_f64()))));
    }
    let constant = match scalar_type(emitter, element)? {
        ScalarType::Bool => Constant::Bool(literal.to_i64() != 0),
        ScalarType::I32 => Constant::I32(literal.to_i64() as i32),
        ScalarType::I64 => Constant::I64(literal.to_i64()),
        ScalarType::F32 => Constant::F32((literal.to_f64() as f32).to_bits()),
    };
    Ok(Expression::Constant(constant))
}

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

/// The access of 1, 2, 4 or 8 elements.
///
/// # Panics
/// If there is no access of so many.
pub(crate) fn access(width: usize) -> Width {
    Width::of(width).expect("templates choose widths that there are")
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
