//! How CUDA spells types.

use crate::kernel_ir::{MemoryType, ScalarType};

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
        MemoryType::F16 => "ww_f16",
        MemoryType::BF16 => "ww_bf16",
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
        MemoryType::F16 => "f16",
        MemoryType::BF16 => "bf16",
    }
}
