//! The words of types, operations and places.

use warpweave_graph::words;

use crate::kernel_ir::{
    BinaryOp, Builtin, ControlWord, GlobalSpace, MemoryOrder, MemoryType, ScalarType, SpecialRegister, Table, UnaryOp,
};

words!(ScalarType { Bool => "bool", I32 => "i32", I64 => "i64", F32 => "f32" });
words!(MemoryType {
    Bool => "bool",
    I8 => "i8",
    U8 => "u8",
    I16 => "i16",
    U16 => "u16",
    I32 => "i32",
    U32 => "u32",
    I64 => "i64",
    F32 => "f32",
    F16 => "f16",
    BF16 => "bf16",
});
words!(GlobalSpace { Arena => "arena", Weights => "weights", States => "states" });
words!(Builtin { Thread => "thread", Block => "block", Grid => "grid", FirstOperand => "first_operand" });
words!(MemoryOrder { Relaxed => "relaxed", Acquire => "acquire", Release => "release" });
words!(ControlWord { Epoch => "epoch", Left => "left", Abort => "abort" });
words!(SpecialRegister { Time => "time", Multiprocessor => "multiprocessor", Cycles => "cycles" });
words!(Table { StreamStart => "stream_start", Instructions => "instructions", Operands => "operands" });

words!(UnaryOp {
    Negate => "neg",
    Absolute => "abs",
    Not => "not",
    Exp => "exp",
    Log => "log",
    Sqrt => "sqrt",
    Tanh => "tanh",
    Logistic => "logistic",
    Erf => "erf",
    Sin => "sin",
    Cos => "cos",
    Atan => "atan",
    Floor => "floor",
    Ceil => "ceil",
    RoundEven => "round",
    ToF16 => "to_f16",
    ToBF16 => "to_bf16",
    OfF16 => "of_f16",
    Bits => "bits",
    OfBits => "of_bits",
});

words!(BinaryOp {
    Add => "add",
    Subtract => "sub",
    Multiply => "mul",
    Divide => "div",
    Remainder => "rem",
    Minimum => "min",
    Maximum => "max",
    Power => "pow",
    Less => "lt",
    LessEqual => "le",
    Equal => "eq",
    And => "and",
    Or => "or",
    BitAnd => "bit_and",
    BitOr => "bit_or",
    BitXor => "bit_xor",
    ShiftLeft => "shl",
    ShiftRight => "shr",
});
