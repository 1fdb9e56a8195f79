//! The types in which kernels hold elements.

use crate::kernel_ir::expression::Constant;
use crate::kernel_ir::expression::Expression;
use crate::kernel_ir::expression::ScalarType;
use crate::kernel_ir::memory::MemoryType;
use crate::lower::emitter::Emitter;
use crate::lower::error::LowerError;
use crate::lower::unsupported::Unsupported;
use warpweave_graph::expr::Literal;
use warpweave_graph::{ElementType, minifloat};

/// How elements of this type lie in memory.
pub(crate) fn memory_type(element: ElementType) -> Result<MemoryType, Unsupported> {
    match element {
        ElementType::Bool => Ok(MemoryType::Bool),
        ElementType::I8 | ElementType::I4 | ElementType::I2 => Ok(MemoryType::I8),
        ElementType::U8 | ElementType::U4 | ElementType::U2 => Ok(MemoryType::U8),
        // A register holds the code.
        ElementType::F8E4M3FN
        | ElementType::F8E4M3FNUZ
        | ElementType::F8E5M2
        | ElementType::F8E5M2FNUZ
        | ElementType::F8E8M0
        | ElementType::F4E2M1 => Ok(MemoryType::U8),
        ElementType::I16 => Ok(MemoryType::I16),
        ElementType::U16 => Ok(MemoryType::U16),
        ElementType::I32 => Ok(MemoryType::I32),
        ElementType::U32 => Ok(MemoryType::U32),
        ElementType::I64 => Ok(MemoryType::I64),
        ElementType::F32 => Ok(MemoryType::F32),
        ElementType::U64 | ElementType::F16 | ElementType::BF16 | ElementType::F64 => {
            Err(Unsupported::Element(element))
        }
    }
}

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
