//! Conversions between singles and the two types of 16 bits.

use warpweave_graph::halves::{NAN, bf16_of_single, f16_of_single, single_of_bf16, single_of_f16};

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
    for (bits, code) in [(0x3f80_8000, 0x3f80), (0x3f81_8000, 0x3f82), (0x7f7f_ffff, 0x7f80), (0x0000_8001, 0x0001)] {
        assert_eq!(bf16_of_single(f32::from_bits(bits)), code, "{bits:08x}");
    }
}
