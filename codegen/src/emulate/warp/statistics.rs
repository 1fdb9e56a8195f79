//! What the memory system of a GPU would do for one access of a warp, and which instructions are arithmetic of a body.

use warpweave_plan::shared_memory::{SharedWidth, lanes_together};

use crate::emulate::bytecode::Instruction;
use crate::emulate::bytecode::scalar::{NarrowBinary, NarrowUnary};

/// Distinct 32-byte sectors; lanes that do not take part have a negative address.
pub fn sectors(addresses: &[i64; 32], size: i64) -> u64 {
    let mut touched: Vec<i64> = Vec::with_capacity(64);
    for &address in addresses.iter().filter(|address| **address >= 0) {
        touched.extend(address / 32..=(address + size - 1) / 32);
    }
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

/// Wavefronts of a shared access of `size` bytes a lane at element `indices`, negative for lanes that do not take part.
///
/// A wavefront serves 32 banks of four bytes, one word of each, and lanes as [`lanes_together`] says.
pub fn wavefronts(indices: &[i64; 32], size: u32, element: u32, base: u32) -> u64 {
    let places = indices.map(|index| (index >= 0).then_some(index));
    let together = lanes_together(&places, SharedWidth::of(size.div_ceil(4) as usize));
    let mut total = 0;
    for lanes in indices.chunks(together.max(1)) {
        let mut words: Vec<i64> = Vec::with_capacity(64);
        for &index in lanes.iter().filter(|index| **index >= 0) {
            let first = i64::from(base) + index * i64::from(element);
            words.extend(first / 4..=(first + i64::from(size) - 1) / 4);
        }
        total += conflicts(words);
    }
    total
}

/// Wavefronts of a load of the rows of a matrix, from the first of so many words of each; rows that are not loaded have none.
pub fn wavefronts_of_rows(first_words: &[Option<i64>], words: i64) -> u64 {
    conflicts(first_words.iter().flatten().flat_map(|&first| first..first + words).collect())
}

/// The most words that lie in one bank; equal words are one.
fn conflicts(mut words: Vec<i64>) -> u64 {
    words.sort_unstable();
    words.dedup();
    let mut banks = [0u64; 32];
    for word in words {
        banks[(word % 32) as usize] += 1;
    }
    banks.into_iter().max().unwrap_or(0)
}

/// Wavefronts of a shared access of `size` bytes by these lanes without conflicts.
pub fn ideal_wavefronts(active: u32, size: u32) -> u64 {
    let together = 32 / size.div_ceil(4).max(1);
    let lanes = u64::MAX >> (64 - together);
    (0..32).step_by(together as usize).filter(|first| u64::from(active) >> first & lanes != 0).count() as u64
}

/// Operations on `F32` of one lane: two of a fused multiply-add, none of moves, selections and conversions.
pub fn float_operations(instruction: &Instruction) -> u64 {
    match instruction {
        Instruction::FusedMultiplyAdd { .. } => 2,
        Instruction::Binary { op, .. } => u64::from(is_float_binary(*op)),
        Instruction::Unary { op, .. } => u64::from(is_float_unary(*op)),
        _ => 0,
    }
}

fn is_float_binary(op: NarrowBinary) -> bool {
    match op {
        NarrowBinary::AddF32
        | NarrowBinary::SubtractF32
        | NarrowBinary::MultiplyF32
        | NarrowBinary::DivideF32
        | NarrowBinary::MinimumF32
        | NarrowBinary::MaximumF32
        | NarrowBinary::RemainderF32
        | NarrowBinary::PowerF32
        | NarrowBinary::LessF32
        | NarrowBinary::LessEqualF32
        | NarrowBinary::EqualF32 => true,
        NarrowBinary::AddI32
        | NarrowBinary::SubtractI32
        | NarrowBinary::MultiplyI32
        | NarrowBinary::DivideI32
        | NarrowBinary::RemainderI32
        | NarrowBinary::PowerI32
        | NarrowBinary::MinimumI32
        | NarrowBinary::MaximumI32
        | NarrowBinary::LessI32
        | NarrowBinary::LessEqualI32
        | NarrowBinary::EqualBits
        | NarrowBinary::BitAnd
        | NarrowBinary::BitOr
        | NarrowBinary::BitXor
        | NarrowBinary::ShiftLeftI32
        | NarrowBinary::ShiftRightI32 => false,
    }
}

fn is_float_unary(op: NarrowUnary) -> bool {
    match op {
        NarrowUnary::NegateF32
        | NarrowUnary::AbsoluteF32
        | NarrowUnary::Exp
        | NarrowUnary::Log
        | NarrowUnary::Sqrt
        | NarrowUnary::Tanh
        | NarrowUnary::Logistic
        | NarrowUnary::Erf
        | NarrowUnary::Sin
        | NarrowUnary::Cos
        | NarrowUnary::Atan
        | NarrowUnary::Floor
        | NarrowUnary::Ceil
        | NarrowUnary::RoundEven => true,
        NarrowUnary::NegateI32
        | NarrowUnary::AbsoluteI32
        | NarrowUnary::ToF16
        | NarrowUnary::ToBF16
        | NarrowUnary::OfF16
        | NarrowUnary::Not
        | NarrowUnary::SameBits
        | NarrowUnary::I32ToF32
        | NarrowUnary::F32ToI32
        | NarrowUnary::BoolToI32
        | NarrowUnary::BoolToF32
        | NarrowUnary::I32ToBool
        | NarrowUnary::F32ToBool => false,
    }
}
