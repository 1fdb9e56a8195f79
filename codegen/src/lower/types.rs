//! The types in which kernels hold elements.

use crate::kernel_ir::expression::Constant;
use crate::kernel_ir::expression::Expression;
use crate::kernel_ir::expression::ScalarType;
use crate::lower::emitter::Emitter;
use crate::lower::error::LowerError;
use warpweave_graph::expr::Literal;
use warpweave_graph::{ElementType, minifloat};

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
