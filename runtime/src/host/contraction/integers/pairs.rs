//! Panels of pairs: two steps of integers side by side in one element of 32 bits.

use super::super::pack::Panels;
use super::quads::SIGN;
use crate::host::vector::processor::{Processor, vectorised};

/// Writes panels of pairs of the packed panels of `elements` elements and `steps` steps, whose values are the bits of integers of 32 bits.
/// `false`, with nothing that means anything written, if an integer is not between −32767 and 32767. An odd step is paired with zeros.
pub(in crate::host::contraction) fn pair(
    words: &[f32],
    panels: Panels,
    (elements, steps): (usize, usize),
    pairs: &mut [f32],
) -> bool {
    let mut beyond = 0u32;
    for (first, width) in panels.each(elements) {
        let panel = &words[first * steps..][..width * steps];
        let out = &mut pairs[first * steps.div_ceil(2)..];
        for (both, out) in panel.chunks(2 * width).zip(out.chunks_exact_mut(width)) {
            let (low, high) = both.split_at(width);
            if high.is_empty() {
                let low = out.iter_mut().zip(low);
                low.for_each(|(out, low)| *out = paired(low.to_bits(), 0, &mut beyond));
            } else {
                let both = out.iter_mut().zip(low.iter().zip(high));
                both.for_each(|(out, (low, high))| *out = paired(low.to_bits(), high.to_bits(), &mut beyond));
            }
        }
    }
    beyond == 0
}

/// How integers of 8 bits are stored.
#[derive(Clone, Copy, Debug)]
pub(in crate::host::contraction) struct Bytes {
    pub(in crate::host::contraction) is_signed: bool,
    /// What is subtracted from each.
    pub(in crate::host::contraction) zero: i16,
}

impl Bytes {
    /// Writes panels of pairs, as [`pair`] does, of the packed panels of bytes. With a zero point between −2¹⁴ and 2¹⁴ all integers fit.
    pub(in crate::host::contraction) fn pair(
        self,
        bytes: &[u8],
        panels: Panels,
        (elements, steps): (usize, usize),
        pairs: &mut [f32],
    ) {
        let (processor, joined) = (Processor::detect(), steps.div_ceil(2));
        for (first, width) in panels.each(elements) {
            let out = &mut pairs[first * joined..][..width * joined];
            pair_panel(processor, &bytes[first * steps..][..width * steps], width, self, out);
        }
    }
}

vectorised! {
/// Pairs every two rows of a panel of rows of `width`. Loops over numbers: iterators need not be inlined, and then have not the features of
/// the caller.
fn pair_panel<I, Avx512>(processor, panel: &[u8], width: usize, bytes: Bytes, out: &mut [f32]) {
    // A byte with a sign is what its bits are without one, the sign changed, less 128.
    let flip = if bytes.is_signed { SIGN } else { 0 };
    let zero = i32::from(bytes.zero) + i32::from(flip);
    let less = |byte: u8| (i32::from(byte ^ flip) - zero) as u32;
    let rows = panel.len() / width;
    let mut row = 0;
    while row < rows {
        let out = &mut out[row / 2 * width..][..width];
        let low = &panel[row * width..][..width];
        let is_last = row + 1 == rows;
        let high = if is_last { low } else { &panel[(row + 1) * width..][..width] };
        let kept = if is_last { 0 } else { u32::MAX };
        let mut at = 0;
        while at < width {
            out[at] = f32::from_bits(less(low[at]) & 0xffff | (less(high[at]) & kept) << 16);
            at += 1;
        }
        row += 2;
    }
}
}

/// Both integers in an element; leaves bits in `beyond` if one is too large.
#[inline(always)]
fn paired(low: u32, high: u32, beyond: &mut u32) -> f32 {
    // From 1 to 65535 where the integer fits.
    let excess = |word: u32| {
        let moved = word.wrapping_add(1 << 15);
        moved >> 16 | u32::from(moved == 0)
    };
    *beyond |= excess(low) | excess(high);
    f32::from_bits(low & 0xffff | high << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(values: &[i32]) -> Vec<f32> {
        values.iter().map(|value| f32::from_bits(*value as u32)).collect()
    }

    fn found(values: &[i32], panels: Panels, size: (usize, usize)) -> Option<Vec<(i16, i16)>> {
        let mut pairs = vec![f32::NAN; panels.singles(size.0) * size.1.div_ceil(2)];
        let fits = pair(&bits(values), panels, size, &mut pairs);
        let both = |pair: f32| (pair.to_bits() as i16, (pair.to_bits() >> 16) as i16);
        fits.then(|| pairs.into_iter().map(both).collect())
    }

    #[test]
    fn steps_are_paired_in_each_panel() {
        // A panel of two elements and one of one, of three steps.
        let values = [1, -2, 3, -4, 5, -6, 7, 8, 9];
        let expected = vec![(1, 3), (-2, -4), (5, 0), (-6, 0), (7, 8), (9, 0)];
        assert_eq!(found(&values, Panels::Exact(2), (3, 3)), Some(expected));
        let expected = vec![(1, 3), (-2, -4), (5, 0), (-6, 0)];
        assert_eq!(found(&values[..6], Panels::Padded(2), (1, 3)), Some(expected));
    }

    #[test]
    fn bytes_are_paired_as_the_integers_that_they_are() {
        for (panels, elements) in [(Panels::Padded(32), 40), (Panels::Padded(16), 16), (Panels::Exact(12), 29)] {
            for (steps, zero, is_signed) in
                [(1, 0, false), (4, 128, false), (5, 255, false), (6, -128, true), (3, 7, true)]
            {
                let count = panels.singles(elements) * steps;
                let bytes: Vec<u8> = (0..count).map(|at| (at * 37 + at / 5) as u8).collect();
                let widened = |byte: u8| if is_signed { i32::from(byte as i8) } else { i32::from(byte) };
                let integers: Vec<i32> = bytes.iter().map(|byte| widened(*byte) - i32::from(zero)).collect();
                let pairs = vec![f32::NAN; panels.singles(elements) * steps.div_ceil(2)];
                let [mut expected, mut found] = [pairs.clone(), pairs];
                assert!(pair(&bits(&integers), panels, (elements, steps), &mut expected));
                Bytes { is_signed, zero }.pair(&bytes, panels, (elements, steps), &mut found);
                let as_bits = |pairs: &[f32]| pairs.iter().map(|pair| pair.to_bits()).collect::<Vec<_>>();
                assert_eq!(as_bits(&found), as_bits(&expected), "{panels:?}, {steps} steps, zero point {zero}");
            }
        }
    }

    #[test]
    fn what_is_beyond_16_bits_is_found() {
        for value in [-32767, -1, 0, 32767] {
            assert_eq!(found(&[value, 0], Panels::Exact(1), (1, 2)), Some(vec![(value as i16, 0)]));
        }
        for value in [-32768, 32768, 65535, 65536, i32::MIN, i32::MAX, -65536] {
            assert_eq!(found(&[value, 0], Panels::Exact(1), (1, 2)), None, "{value}");
            assert_eq!(found(&[0, value], Panels::Exact(1), (1, 2)), None, "{value}");
        }
    }
}
