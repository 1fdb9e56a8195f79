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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        for code in 0..=u16::MAX {
            let single = single_of_f16(code);
            assert_eq!(f16_of_single(single), if single.is_nan() { NAN } else { code }, "{code:04x}");
            let single = single_of_bf16(code);
            assert_eq!(bf16_of_single(single), if single.is_nan() { NAN } else { code }, "{code:04x}");
        }
    }

    #[test]
    fn ties_go_to_even_and_small_numbers_stay() {
        for (single, code) in [
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (65_519.0, 0x7bff),
            (65_520.0, 0x7c00),
            (2f32.powi(-24), 0x0001),
            (2f32.powi(-25), 0x0000),
            (1.5 * 2f32.powi(-25), 0x0001),
            (-0.0, 0x8000),
        ] {
            assert_eq!(f16_of_single(single), code, "{single}");
        }
        for (bits, code) in [(0x3f80_8000, 0x3f80), (0x3f81_8000, 0x3f82), (0x7f7f_ffff, 0x7f80), (0x0000_8001, 0x0001)]
        {
            assert_eq!(bf16_of_single(f32::from_bits(bits)), code, "{bits:08x}");
        }
    }
}
