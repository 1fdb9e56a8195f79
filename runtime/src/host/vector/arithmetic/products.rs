//! Sums of products of singles that lie side by side.
//!
//! A sum is taken in parts, one a lane of four vectors, so its order depends on the processor and on nothing else.

use super::processor::Processor;
use crate::host::simd::Vector;

/// Vectors of partial sums of a row.
const PARTS: usize = 4;

/// Elements ahead of those that are multiplied which are fetched meanwhile: processors do not see by themselves what comes beyond
/// a page.
const AHEAD: usize = 256;

/// Whether sums begin with products or are added to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sums {
    /// They begin.
    Begin,
    /// There are some.
    GoOn,
}

/// The sum of the products of two slices, as far as the shorter goes.
pub(crate) fn dot(processor: Processor, left: &[f32], right: &[f32]) -> f32 {
    let length = left.len().min(right.len());
    let mut sum = [0.0];
    matrix_vector(processor, &left[..length], length, &right[..length], &mut sum, Sums::Begin);
    sum[0]
}

/// The product of a matrix, whose rows begin `stride` elements apart, with a vector: a sum a row of `out`.
///
/// # Panics
/// If the matrix ends before its last row.
pub(crate) fn matrix_vector(
    processor: Processor,
    matrix: &[f32],
    stride: usize,
    vector: &[f32],
    out: &mut [f32],
    sums: Sums,
) {
    #[cfg(target_arch = "x86_64")]
    if processor.has_avx2() {
        #[expect(unsafe_code, reason = "the functions are compiled for features that were detected")]
        // SAFETY: the processor was asked for the features.
        return unsafe {
            match processor.has_avx512() {
                true => x86::avx512(matrix, stride, vector, out, sums),
                false => x86::avx2(matrix, stride, vector, out, sums),
            }
        };
    }
    of_vectors::<[f32; 4], 4, 2>(matrix, stride, vector, out, sums);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256, __m512};

    use super::{Sums, of_vectors};

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512(matrix: &[f32], stride: usize, vector: &[f32], out: &mut [f32], sums: Sums) {
        of_vectors::<__m512, 16, 4>(matrix, stride, vector, out, sums);
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2(matrix: &[f32], stride: usize, vector: &[f32], out: &mut [f32], sums: Sums) {
        of_vectors::<__m256, 8, 2>(matrix, stride, vector, out, sums);
    }
}

/// With vectors of so many lanes, and so many rows at once, whose sums fit into registers.
#[inline(always)]
fn of_vectors<V: Vector, const LANES: usize, const ROWS: usize>(
    matrix: &[f32],
    stride: usize,
    vector: &[f32],
    out: &mut [f32],
    begun: Sums,
) {
    let mut row = 0;
    while row < out.len() {
        let matrix = &matrix[row * stride..];
        if row + ROWS <= out.len() {
            of_rows::<V, LANES, ROWS>(matrix, stride, vector, &mut out[row..], begun);
            row += ROWS;
        } else {
            of_rows::<V, LANES, 1>(matrix, stride, vector, &mut out[row..], begun);
            row += 1;
        }
    }
}

/// Loops over numbers: iterators and closures need not be inlined, and then have not the features of the function.
#[inline(always)]
fn of_rows<V: Vector, const LANES: usize, const ROWS: usize>(
    matrix: &[f32],
    stride: usize,
    vector: &[f32],
    out: &mut [f32],
    begun: Sums,
) {
    let (vectors, rest) = vector.as_chunks::<LANES>();
    let mut rows: [&[[f32; LANES]]; ROWS] = [&[]; ROWS];
    let mut row = 0;
    while row < ROWS {
        rows[row] = &matrix[row * stride..][..vector.len()].as_chunks::<LANES>().0[..vectors.len()];
        row += 1;
    }
    let mut sums = [[V::splat(0.0); PARTS]; ROWS];
    let mut at = 0;
    while at + PARTS <= vectors.len() {
        let mut part = 0;
        while part < PARTS {
            let factor = V::load(&vectors[at + part]);
            let mut row = 0;
            while row < ROWS {
                let elements = &rows[row][at + part];
                if (part * LANES).is_multiple_of(LINE) {
                    V::fetch(elements.as_ptr().wrapping_add(AHEAD));
                }
                sums[row][part] = V::load(elements).multiply_add(factor, sums[row][part]);
                row += 1;
            }
            part += 1;
        }
        at += PARTS;
    }
    while at < vectors.len() {
        let factor = V::load(&vectors[at]);
        let mut row = 0;
        while row < ROWS {
            sums[row][0] = V::load(&rows[row][at]).multiply_add(factor, sums[row][0]);
            row += 1;
        }
        at += 1;
    }
    let mut row = 0;
    while row < ROWS {
        let [first, second, third, fourth] = sums[row];
        let mut sum = first.add(second).add(third.add(fourth)).sum();
        let own = &matrix[row * stride + vectors.len() * LANES..][..rest.len()];
        let mut last = 0;
        while last < rest.len() {
            sum += own[last] * rest[last];
            last += 1;
        }
        out[row] = match begun {
            Sums::Begin => sum,
            Sums::GoOn => out[row] + sum,
        };
        row += 1;
    }
}

/// Elements of a line of a cache.
const LINE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_every_length() {
        let value = |at: usize, seed: usize| ((at * 7 + seed * 5) % 17) as f32 - 8.0;
        for length in (0..70).chain([256, 1001]) {
            let slices: Vec<Vec<f32>> = (0..5).map(|seed| (0..length).map(|at| value(at, seed)).collect()).collect();
            let expected = |row: usize| slices[4].iter().zip(&slices[row]).map(|(a, b)| a * b).sum::<f32>();
            for processor in Processor::all() {
                let (mut found, matrix) = ([f32::NAN; 5], slices.concat());
                for (sums, times) in [(Sums::Begin, 1.0), (Sums::GoOn, 2.0)] {
                    matrix_vector(processor, &matrix, length, &slices[4], &mut found, sums);
                    assert_eq!(found, std::array::from_fn(|row| times * expected(row)), "{length}");
                }
                assert_eq!(dot(processor, &slices[4], &slices[1]), expected(1), "{length}");
            }
        }
    }
}
