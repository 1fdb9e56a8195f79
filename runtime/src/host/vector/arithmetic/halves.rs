//! Halves and singles, by the processor's conversions where it has them for vectors of 512 bits.

use super::mathematics::{half_of_single, single_of_half};
use super::processor::{Processor, vectorised};

/// Codes that are converted at once.
const LANES: usize = 16;

/// The singles that the little-endian codes of halves hold.
pub(crate) fn decode(processor: Processor, codes: &[[u8; 2]], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if processor.has_avx512() {
        #[expect(unsafe_code, reason = "the function is compiled for a feature that was detected")]
        // SAFETY: the processor was asked for the feature.
        return unsafe { x86::decode(codes, out) };
    }
    decode_each(processor, codes, out);
}

/// The little-endian codes of the halves nearest to singles, ties to even.
pub(crate) fn encode(processor: Processor, values: &[f32], out: &mut [[u8; 2]]) {
    #[cfg(target_arch = "x86_64")]
    if processor.has_avx512() {
        #[expect(unsafe_code, reason = "the function is compiled for a feature that was detected")]
        // SAFETY: the processor was asked for the feature.
        return unsafe { x86::encode(values, out) };
    }
    encode_each(processor, values, out);
}

/// The halves nearest to singles.
pub(crate) fn round(processor: Processor, values: &[f32], out: &mut [f32]) {
    for (values, out) in values.chunks(LANES).zip(out.chunks_mut(LANES)) {
        let mut codes = [[0; 2]; LANES];
        encode(processor, values, &mut codes[..values.len()]);
        decode(processor, &codes[..values.len()], out);
    }
}

vectorised! {
fn decode_each<I>(processor, codes: &[[u8; 2]], out: &mut [f32]) {
    out.iter_mut().zip(codes).for_each(|(out, code)| *out = single_of_half(u16::from_le_bytes(*code)));
}
}

vectorised! {
fn encode_each<I>(processor, values: &[f32], out: &mut [[u8; 2]]) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = half_of_single(*value).to_le_bytes());
}
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions of some processors only")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, half_of_single, single_of_half};

    #[target_feature(enable = "avx512f")]
    pub(super) fn decode(codes: &[[u8; 2]], out: &mut [f32]) {
        let count = codes.len().min(out.len());
        let ((codes, codes_left), (out, left)) =
            (codes[..count].as_chunks::<LANES>(), out[..count].as_chunks_mut::<LANES>());
        for (codes, out) in codes.iter().zip(out) {
            // SAFETY: both are as long as a vector.
            unsafe {
                let codes = _mm256_loadu_si256(codes.as_ptr().cast());
                _mm512_storeu_ps(out.as_mut_ptr(), _mm512_cvtph_ps(codes));
            }
        }
        left.iter_mut().zip(codes_left).for_each(|(out, code)| *out = single_of_half(u16::from_le_bytes(*code)));
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn encode(values: &[f32], out: &mut [[u8; 2]]) {
        let count = values.len().min(out.len());
        let ((values, values_left), (out, left)) =
            (values[..count].as_chunks::<LANES>(), out[..count].as_chunks_mut::<LANES>());
        for (values, out) in values.iter().zip(out) {
            // SAFETY: both are as long as a vector.
            unsafe {
                let codes = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_loadu_ps(values.as_ptr()));
                _mm256_storeu_si256(out.as_mut_ptr().cast(), codes);
            }
        }
        left.iter_mut().zip(values_left).for_each(|(out, value)| *out = half_of_single(*value).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_convert_alike() {
        let codes: Vec<[u8; 2]> = (0..=u16::MAX).map(u16::to_le_bytes).chain([[1, 2]; 3]).collect();
        let (mut native, mut each) = (vec![0.0; codes.len()], vec![0.0; codes.len()]);
        decode(Processor::detect(), &codes, &mut native);
        decode_each(Processor::default(), &codes, &mut each);
        let same = |one: f32, other: f32| one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan();
        assert!(native.iter().zip(&each).all(|(one, other)| same(*one, *other)));
        // The singles around each half, and between it and the next.
        let near = each.iter().filter(|value| !value.is_nan()).flat_map(|value| {
            let bits = value.to_bits();
            [0, 1, 0xfff, 0x1000, 0x1001].map(|more| f32::from_bits(bits.wrapping_add(more)))
        });
        let near: Vec<f32> = near.filter(|value| !value.is_nan()).collect();
        let (mut native, mut each) = (vec![[0; 2]; near.len()], vec![[0; 2]; near.len()]);
        encode(Processor::detect(), &near, &mut native);
        encode_each(Processor::default(), &near, &mut each);
        assert!(native == each);
    }
}
