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
    let found = sums(processor, &quarters(left, quarter), &quarters(right, quarter));
    let rest = left[ROWS * quarter..length].iter().zip(&right[ROWS * quarter..]);
    let rest: f32 = rest.map(|(left, right)| left * right).sum();
    (found[0] + found[1]) + (found[2] + found[3]) + rest
}

/// The first parts of a slice, of this length each.
fn quarters(slice: &[f32], length: usize) -> [&[f32]; ROWS] {
    std::array::from_fn(|row| &slice[row * length..][..length])
}

/// The sums of the products of a slice with several, as far as the shortest goes.
pub(crate) fn dot_rows(processor: Processor, shared: &[f32], rows: &[&[f32]; ROWS]) -> [f32; ROWS] {
    sums(processor, &[shared; ROWS], rows)
}

/// The sums of the products of pairs of slices, as far as the shortest of all goes.
fn sums(processor: Processor, left: &[&[f32]; ROWS], right: &[&[f32]; ROWS]) -> [f32; ROWS] {
    let length = left.iter().chain(right).map(|slice| slice.len()).min().unwrap_or(0);
    let (left, right) = (left.map(|slice| &slice[..length]), right.map(|slice| &slice[..length]));
    let mut out = [0.0; ROWS];
    on_vectors(processor, &mut Products::Pairs { left: &left, right: &right, out: &mut out });
    out
}

/// The product of a matrix, whose rows begin `stride` elements apart, with a vector: a sum a row of `out`.
///
/// # Panics
/// If the matrix ends before its last row.
pub(crate) fn matrix_vector(processor: Processor, matrix: &[f32], stride: usize, vector: &[f32], out: &mut [f32]) {
    on_vectors(processor, &mut Products::Matrix { matrix, stride, vector, out });
}

/// What is summed.
enum Products<'p> {
    /// Pairs of slices of one length.
    Pairs { left: &'p [&'p [f32]; ROWS], right: &'p [&'p [f32]; ROWS], out: &'p mut [f32; ROWS] },
    /// Rows with a vector.
    Matrix { matrix: &'p [f32], stride: usize, vector: &'p [f32], out: &'p mut [f32] },
}

fn on_vectors(processor: Processor, products: &mut Products) {
    #[cfg(target_arch = "x86_64")]
    if processor.has_avx2() {
        #[expect(unsafe_code, reason = "the function is compiled for features that were detected")]
        // SAFETY: the processor was asked for both features.
        return unsafe { x86::avx2(products) };
    }
    of_vectors::<[f32; 4], 8>(products);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::__m256;

    use super::{Products, of_vectors};

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2(products: &mut Products) {
        of_vectors::<__m256, 16>(products);
    }
}

/// With `PARTS` partial sums a row, which are two vectors. Loops are over numbers: iterators and closures need not be inlined,
/// and then have not the features of the function.
#[inline(always)]
fn of_vectors<V: Vector, const PARTS: usize>(products: &mut Products) {
    match products {
        Products::Pairs { left, right, out } => block::<V, PARTS, false>(left, right, 0, out),
        Products::Matrix { matrix, stride, vector, out } => {
            let mut first = 0;
            while first < out.len() {
                let last = (out.len() - first).min(ROWS) - 1;
                let mut rows = [&vector[..0]; ROWS];
                let mut row = 0;
                while row < ROWS {
                    rows[row] = &matrix[(first + if row < last { row } else { last }) * *stride..][..vector.len()];
                    row += 1;
                }
                let mut found = [0.0; ROWS];
                block::<V, PARTS, true>(&[*vector; ROWS], &rows, ROWS * *stride, &mut found);
                out[first..=first + last].copy_from_slice(&found[..=last]);
                first += ROWS;
            }
        }
    }
}

/// The sums of four rows; `IS_SHARED` says that all left ones are the first. What lies `ahead` elements behind the right ones
/// is fetched meanwhile: rows are too short for processors to see by themselves where the next ones begin.
#[inline(always)]
fn block<V: Vector, const PARTS: usize, const IS_SHARED: bool>(
    left: &[&[f32]; ROWS],
    right: &[&[f32]; ROWS],
    ahead: usize,
    out: &mut [f32; ROWS],
) {
    let steps = left[0].len() / PARTS;
    let (mut lefts, mut rights) = ([&[][..]; ROWS], [&[][..]; ROWS]);
    let mut row = 0;
    while row < ROWS {
        (lefts[row], rights[row]) =
            (&left[row].as_chunks::<PARTS>().0[..steps], &right[row].as_chunks::<PARTS>().0[..steps]);
        row += 1;
    }
    let mut sums = [[V::splat(0.0); 2]; ROWS];
    let mut step = 0;
    while step < steps {
        let shared = [V::load(&lefts[0][step]), V::load(&lefts[0][step][V::LANES..])];
        let mut row = 0;
        while row < ROWS {
            let own = match IS_SHARED {
                true => shared,
                false => [V::load(&lefts[row][step]), V::load(&lefts[row][step][V::LANES..])],
            };
            let right = &rights[row][step];
            if IS_SHARED {
                V::fetch(right.as_ptr().wrapping_add(ahead));
            }
            sums[row][0] = own[0].multiply_add(V::load(right), sums[row][0]);
            sums[row][1] = own[1].multiply_add(V::load(&right[V::LANES..]), sums[row][1]);
            row += 1;
        }
        step += 1;
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
        out[row] = lanes[0];
        let mut last = steps * PARTS;
        while last < left[row].len() {
            out[row] += left[row][last] * right[row][last];
            last += 1;
        }
        row += 1;
    }
}

/// Lanes of the widest vector.
const MOST_LANES: usize = 16;

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
