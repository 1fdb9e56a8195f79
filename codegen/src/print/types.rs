//! Types of expressions, and how CUDA spells them.

use crate::kernel_ir::{BinaryOp, Expression, Kernel, MemoryType, ScalarType, UnaryOp};

/// The type of a well-typed expression of `kernel`.
pub(super) fn type_of(kernel: &Kernel, expression: &Expression) -> ScalarType {
    match expression {
        Expression::Constant(constant) => constant.scalar_type(),
        Expression::Local(local) => kernel.locals[*local],
        Expression::Element(array, _) => kernel.arrays[*array].scalar,
        Expression::Builtin(_) | Expression::Operand(_) | Expression::Tile | Expression::FastDivide(..) => {
            ScalarType::I32
        }
        Expression::Unary(op, value) => match op {
            UnaryOp::Negate | UnaryOp::Absolute => type_of(kernel, value),
            UnaryOp::Not => ScalarType::Bool,
            UnaryOp::Bits => ScalarType::I32,
            UnaryOp::Exp
            | UnaryOp::Log
            | UnaryOp::Sqrt
            | UnaryOp::Tanh
            | UnaryOp::Erf
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Atan
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::RoundEven
            | UnaryOp::OfBits => ScalarType::F32,
        },
        Expression::Binary(op, left, _) => match op {
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::Minimum
            | BinaryOp::Maximum
            | BinaryOp::Power
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => type_of(kernel, left),
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Equal | BinaryOp::And | BinaryOp::Or => ScalarType::Bool,
        },
        Expression::FusedMultiplyAdd(..) => ScalarType::F32,
        Expression::Select(_, then, _) => type_of(kernel, then),
        Expression::Cast(target, _) => *target,
    }
}

/// The type that a register has in the text. Integers are unsigned, because their arithmetic wraps; signed operations
/// are spelt out where they differ.
pub(super) fn register(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::Bool => "bool",
        ScalarType::I32 => "unsigned",
        ScalarType::I64 => "unsigned long long",
        ScalarType::F32 => "float",
    }
}

/// The type that an element has in shared memory.
pub(super) fn element(memory: MemoryType) -> &'static str {
    match memory {
        MemoryType::Bool | MemoryType::U8 => "unsigned char",
        MemoryType::I8 => "signed char",
        MemoryType::I16 => "short",
        MemoryType::U16 => "unsigned short",
        MemoryType::I32 | MemoryType::U32 => "unsigned",
        MemoryType::I64 => "unsigned long long",
        MemoryType::F32 => "float",
    }
}

/// The end of the names of the primitives that move elements of this type.
pub(super) fn suffix(memory: MemoryType) -> &'static str {
    match memory {
        MemoryType::Bool => "bool",
        MemoryType::I8 => "i8",
        MemoryType::U8 => "u8",
        MemoryType::I16 => "i16",
        MemoryType::U16 => "u16",
        MemoryType::I32 => "i32",
        MemoryType::U32 => "u32",
        MemoryType::I64 => "i64",
        MemoryType::F32 => "f32",
    }
}
