//! Floating point of 16 bits between memory and the singles that are computed with.
//!
//! Conversions are those of the GPU's instructions (PTX ISA, `cvt`): to nearest, ties to even, subnormal numbers kept. A value that is
//! no number becomes one code, [`NAN`], whatever its bits were.

use half::{bf16, f16};

/// The code that conversion to either format gives for what is no number.
pub const NAN: u16 = 0x7fff;

/// The code of IEEE binary16 that is nearest to a single.
pub fn f16_of_single(single: f32) -> u16 {
    if single.is_nan() { NAN } else { f16::from_f32(single).to_bits() }
}

/// The single that a code of IEEE binary16 stands for.
pub fn single_of_f16(code: u16) -> f32 {
    let value = f16::from_bits(code);
    if value.is_nan() { f32::from_bits(0x7fff_ffff) } else { value.to_f32() }
}

/// The code of the upper half of a single that is nearest to a single.
pub fn bf16_of_single(single: f32) -> u16 {
    if single.is_nan() { NAN } else { bf16::from_f32(single).to_bits() }
}

/// The single whose upper half is a code, and whose lower half is zero.
pub fn single_of_bf16(code: u16) -> f32 {
    f32::from_bits(u32::from(code) << 16)
}
