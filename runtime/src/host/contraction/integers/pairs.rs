//! Panels of pairs: two steps of integers side by side in one element of 32 bits.

use super::super::pack::Panels;

/// Makes panels of pairs of the packed panels of `elements` elements and `steps` steps, whose values are the bits of integers of 32 bits,
/// and appends them. `false`, with nothing that means anything appended, if an integer is not between −32767 and 32767. An odd step is
/// paired with zeros.
pub(in crate::host::contraction) fn pair(
    words: &[f32],
    panels: Panels,
    (elements, steps): (usize, usize),
    pairs: &mut Vec<f32>,
) -> bool {
    let mut beyond = 0u32;
    let (all, mut done) = (panels.singles(elements), 0);
    for first in (0..all).step_by(panels.width()) {
        let width = panels.width_at(first, all);
        let panel = &words[done..][..width * steps];
        done += panel.len();
        for both in panel.chunks(2 * width) {
            let (low, high) = both.split_at(width);
            if high.is_empty() {
                pairs.extend(low.iter().map(|low| paired(low.to_bits(), 0, &mut beyond)));
            } else {
                let both = low.iter().zip(high);
                pairs.extend(both.map(|(low, high)| paired(low.to_bits(), high.to_bits(), &mut beyond)));
            }
        }
    }
    beyond == 0
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
        let mut pairs = Vec::new();
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
