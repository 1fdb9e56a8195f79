//! Sums of products of singles that lie side by side.
//!
//! A sum is taken in parts, one a lane of two vectors a row, so its order depends on the processor and on nothing else.

use super::processor::Processor;
use crate::host::simd::Vector;

/// Rows whose products are summed at once.
pub(crate) const ROWS: usize = 4;

/// The sum of the products of two slices, as far as the shorter goes.
pub(crate) fn dot(processor: Processor, left: &[f32], right: &[f32]) -> f32 {
    let length = left.len().min(right.len());
    // Quarters side by side have as many sums under way as four rows.
    let quarter = length / ROWS;
    let [a, b, c, d] = sums(processor, &quarters(left, quarter), &quarters(right, quarter), 0);
    let rest = left[ROWS * quarter..length].iter().zip(&right[ROWS * quarter..]);
    let rest: f32 = rest.map(|(left, right)| left * right).sum();
    (a + b) + (c + d) + rest
}

/// The first parts of a slice, of this length each.
fn quarters(slice: &[f32], length: usize) -> [&[f32]; ROWS] {
    std::array::from_fn(|row| &slice[row * length..][..length])
}

/// The product of a matrix, whose rows begin `stride` elements apart, with a vector: a sum a row of `out`.
///
/// # Panics
/// If the matrix ends before its last row.
pub(crate) fn matrix_vector(processor: Processor, matrix: &[f32], stride: usize, vector: &[f32], out: &mut [f32]) {
    let row = |row: usize| &matrix[row * stride..][..vector.len()];
    for (block, out) in out.chunks_mut(ROWS).enumerate() {
        let last = out.len() - 1;
        let rows = std::array::from_fn(|at| row(block * ROWS + at.min(last)));
        let found = sums(processor, &[vector; ROWS], &rows, ROWS * stride);
        out.copy_from_slice(&found[..=last]);
    }
}

/// The sums of the products of a slice with several, as far as the shortest goes.
pub(crate) fn dot_rows(processor: Processor, shared: &[f32], rows: &[&[f32]; ROWS]) -> [f32; ROWS] {
    sums(processor, &[shared; ROWS], rows, 0)
}

/// The sums of the products of pairs of slices, as far as the shortest of all goes. What lies `ahead` elements behind the
/// right ones is fetched meanwhile: rows are too short for processors to see by themselves where the next ones begin.
#[inline]
fn sums(processor: Processor, left: &[&[f32]; ROWS], right: &[&[f32]; ROWS], ahead: usize) -> [f32; ROWS] {
    let mut out = [0.0; ROWS];
    #[cfg(target_arch = "x86_64")]
    if processor.has_avx2() {
        #[expect(unsafe_code, reason = "the function is compiled for features that were detected")]
        // SAFETY: the processor was asked for both features.
        unsafe {
            x86::avx2(left, right, ahead, &mut out)
        };
        return out;
    }
    of_vectors::<[f32; 4]>(left, right, ahead, &mut out);
    out
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::__m256;

    use super::{ROWS, of_vectors};

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2(left: &[&[f32]; ROWS], right: &[&[f32]; ROWS], ahead: usize, out: &mut [f32; ROWS]) {
        of_vectors::<__m256>(left, right, ahead, out);
    }
}

/// Lanes of the widest vector.
const MOST_LANES: usize = 16;

/// Loops over numbers: iterators and closures need not be inlined, and then have not the features of the function.
#[inline(always)]
fn of_vectors<V: Vector>(left: &[&[f32]; ROWS], right: &[&[f32]; ROWS], ahead: usize, out: &mut [f32; ROWS]) {
    let mut length = usize::MAX;
    let mut row = 0;
    while row < ROWS {
        length = length.min(left[row].len()).min(right[row].len());
        row += 1;
    }
    let mut sums = [[V::splat(0.0); 2]; ROWS];
    let mut at = 0;
    while at + 2 * V::LANES <= length {
        let mut row = 0;
        while row < ROWS {
            let (left, right) = (&left[row][at..][..2 * V::LANES], &right[row][at..][..2 * V::LANES]);
            if ahead > 0 {
                V::fetch(right.as_ptr().wrapping_add(ahead));
            }
            sums[row][0] = V::load(left).multiply_add(V::load(right), sums[row][0]);
            sums[row][1] = V::load(&left[V::LANES..]).multiply_add(V::load(&right[V::LANES..]), sums[row][1]);
            row += 1;
        }
        at += 2 * V::LANES;
    }
    let mut row = 0;
    while row < ROWS {
        let mut lanes = [0f32; MOST_LANES];
        sums[row][0].add(sums[row][1]).store(&mut lanes);
        let mut half = V::LANES / 2;
        while half > 0 {
            let mut lane = 0;
            while lane < half {
                lanes[lane] += lanes[lane + half];
                lane += 1;
            }
            half /= 2;
        }
        let mut rest = lanes[0];
        let mut last = at;
        while last < length {
            rest += left[row][last] * right[row][last];
            last += 1;
        }
        out[row] = rest;
        row += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_every_length() {
        let value = |at: usize, seed: usize| ((at * 7 + seed * 5) % 17) as f32 - 8.0;
        for length in (0..40).chain([256, 1001]) {
            let slices: Vec<Vec<f32>> = (0..5).map(|seed| (0..length).map(|at| value(at, seed)).collect()).collect();
            let expected = |row: usize| slices[4].iter().zip(&slices[row]).map(|(a, b)| a * b).sum::<f32>();
            for processor in [Processor::default(), Processor::detect()] {
                let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &slices[row][..]);
                assert_eq!(dot_rows(processor, &slices[4], &rows), std::array::from_fn(expected), "{length}");
                let (mut found, matrix) = ([f32::NAN; 5], slices.concat());
                matrix_vector(processor, &matrix, length, &slices[4], &mut found);
                assert_eq!(found, std::array::from_fn(expected), "{length}");
                assert_eq!(dot(processor, &slices[4], rows[1]), expected(1), "{length}");
            }
        }
    }
}
