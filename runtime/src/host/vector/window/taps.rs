//! Values of taps, combined window by window.

use warpweave_graph::expr::Reducer;

use super::super::arithmetic::processor::{Processor, of_vectors};
use super::tapping::Runs;
use crate::host::simd::{MOST_LANES, Vector};

/// Values beyond the last plane that are read and mean nothing.
pub(super) const BLOCK: usize = 64;

/// Vectors that are combined together: one has too few taps in hand to hide the latency of their sums.
const TOGETHER: usize = 8;

/// Planes that are combined together where each has several vectors.
const FEW: usize = 2;

/// Planes one after another, and where the taps of their windows are.
pub(super) struct Tapped<'t> {
    pub(super) runs: &'t Runs,
    pub(super) planes: &'t [f32],
    /// Elements from one window's planes to the next.
    pub(super) length: usize,
    /// Where the value of the first window is at each tap.
    pub(super) offsets: &'t [usize],
    /// A factor a tap, and how far those of the next planes are from there.
    pub(super) factors: (&'t [f32], usize),
    pub(super) count: usize,
}

impl Tapped<'_> {
    /// Reduces all windows. What is written ends with a vector.
    pub(super) fn reduce(&self, processor: Processor, reducer: Reducer, out: &mut [f32]) {
        match reducer {
            Reducer::Sum | Reducer::Product => sums(processor, self, out),
            Reducer::Maximum => maxima(processor, self, out),
            Reducer::Minimum => minima(processor, self, out),
        }
    }
}

/// How the values of taps are combined.
trait Combine {
    /// What a combination begins with.
    const START: f32;
    /// One value more, with the factor of its tap.
    fn with<V: Vector>(found: V, value: V, factor: V) -> V;
}

struct Sum;

impl Combine for Sum {
    const START: f32 = 0.0;

    #[inline(always)]
    fn with<V: Vector>(found: V, value: V, factor: V) -> V {
        value.multiply_add(factor, found)
    }
}

struct Larger;

impl Combine for Larger {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn with<V: Vector>(found: V, value: V, _: V) -> V {
        found.larger(value)
    }
}

struct Smaller;

impl Combine for Smaller {
    const START: f32 = f32::INFINITY;

    #[inline(always)]
    fn with<V: Vector>(found: V, value: V, _: V) -> V {
        found.smaller(value)
    }
}

of_vectors! {
fn sums<V>(processor, of: &Tapped<'_>, out: &mut [f32]) {
    combine::<V, Sum>(of, out);
}
}

of_vectors! {
fn maxima<V>(processor, of: &Tapped<'_>, out: &mut [f32]) {
    combine::<V, Larger>(of, out);
}
}

of_vectors! {
fn minima<V>(processor, of: &Tapped<'_>, out: &mut [f32]) {
    combine::<V, Smaller>(of, out);
}
}

#[inline(always)]
fn combine<V: Vector, C: Combine>(of: &Tapped<'_>, out: &mut [f32]) {
    let Tapped { runs, length, offsets, factors: (factors, stride), .. } = *of;
    let (mut number, mut to) = (0, 0);
    if runs.count == 1 {
        (number, to) = match runs.length.div_ceil(V::LANES) {
            1 => planes::<V, C, TOGETHER, 1>(of, out),
            2 => planes::<V, C, { TOGETHER / 2 }, 2>(of, out),
            3 => planes::<V, C, FEW, 3>(of, out),
            4 => planes::<V, C, FEW, 4>(of, out),
            _ => (0, 0),
        };
    }
    for number in number..of.count {
        let (planes, factors) = (&of.planes[number * length..], &factors[number * stride..][..offsets.len()]);
        let mut first = 0;
        if runs.windows.is_none() && runs.length <= V::LANES {
            while runs.count - first >= TOGETHER / 2 {
                let (planes, out) = (&planes[first * runs.pitch..], &mut out[to..]);
                let count = match runs.count - first >= TOGETHER {
                    true => rows::<V, C, TOGETHER>(planes, offsets, factors, runs, out),
                    false => rows::<V, C, { TOGETHER / 2 }>(planes, offsets, factors, runs, out),
                };
                (first, to) = (first + count, to + count * runs.length);
            }
        }
        for run in first..runs.count {
            let mut at = 0;
            while at < runs.length {
                let (planes, out) = (&planes[run * runs.pitch + at..], &mut out[to..]);
                let vectors = (runs.length - at).div_ceil(V::LANES);
                let (vectors, written) = match vectors {
                    1 => (1, block::<V, C, 1>(planes, offsets, factors, runs, at, out)),
                    2..4 => (2, block::<V, C, 2>(planes, offsets, factors, runs, at, out)),
                    _ => (4, block::<V, C, 4>(planes, offsets, factors, runs, at, out)),
                };
                at += vectors * V::LANES;
                to += written;
            }
        }
    }
}

/// The combinations of as many planes as there are whole groups of, each of one run of so many vectors; how many planes those are, and
/// how many values they give.
#[inline(always)]
fn planes<V: Vector, C: Combine, const PLANES: usize, const VECTORS: usize>(
    of: &Tapped<'_>,
    out: &mut [f32],
) -> (usize, usize) {
    let Tapped { runs, length, offsets, factors: (factors, stride), .. } = *of;
    let (mut number, mut to) = (0, 0);
    while of.count - number >= PLANES {
        let (values, factors) = (&of.planes[number * length..], &factors[number * stride..]);
        let mut found = [[V::splat(C::START); VECTORS]; PLANES];
        let mut tap = 0;
        while tap < offsets.len() {
            let values = &values[offsets[tap]..][..(PLANES - 1) * length + VECTORS * V::LANES];
            let factors = &factors[tap..][..(PLANES - 1) * stride + 1];
            let mut plane = 0;
            while plane < PLANES {
                let (factor, values) = (V::splat(factors[plane * stride]), &values[plane * length..]);
                let mut vector = 0;
                while vector < VECTORS {
                    let value = V::load(&values[vector * V::LANES..]);
                    found[plane][vector] = C::with(found[plane][vector], value, factor);
                    vector += 1;
                }
                plane += 1;
            }
            tap += 1;
        }
        let mut plane = 0;
        while plane < PLANES {
            to += store::<V, VECTORS>(&found[plane], runs, 0, &mut out[to..]);
            plane += 1;
        }
        number += PLANES;
    }
    (number, to)
}

/// The combinations of so many runs of no more than a vector; returns how many. What a store writes beyond its run the next one writes again.
#[inline(always)]
fn rows<V: Vector, C: Combine, const ROWS: usize>(
    planes: &[f32],
    offsets: &[usize],
    factors: &[f32],
    runs: &Runs,
    out: &mut [f32],
) -> usize {
    let mut found = [V::splat(C::START); ROWS];
    let reach = (ROWS - 1) * runs.pitch + V::LANES;
    let mut tap = 0;
    while tap < offsets.len() {
        let (factor, values) = (V::splat(factors[tap]), &planes[offsets[tap]..][..reach]);
        let mut row = 0;
        while row < ROWS {
            found[row] = C::with(found[row], V::load(&values[row * runs.pitch..]), factor);
            row += 1;
        }
        tap += 1;
    }
    let mut row = 0;
    while row < ROWS {
        found[row].store(&mut out[row * runs.length..]);
        row += 1;
    }
    ROWS
}

/// The combinations of so many vectors of a run from an element on; returns how many are written.
#[inline(always)]
fn block<V: Vector, C: Combine, const VECTORS: usize>(
    planes: &[f32],
    offsets: &[usize],
    factors: &[f32],
    runs: &Runs,
    at: usize,
    out: &mut [f32],
) -> usize {
    let mut found = [V::splat(C::START); VECTORS];
    let mut tap = 0;
    while tap < offsets.len() {
        let (factor, values) = (V::splat(factors[tap]), &planes[offsets[tap]..][..VECTORS * V::LANES]);
        let mut vector = 0;
        while vector < VECTORS {
            found[vector] = C::with(found[vector], V::load(&values[vector * V::LANES..]), factor);
            vector += 1;
        }
        tap += 1;
    }
    store::<V, VECTORS>(&found, runs, at, out)
}

/// Writes vectors of a run from an element on; returns how many values those are.
#[inline(always)]
fn store<V: Vector, const VECTORS: usize>(found: &[V; VECTORS], runs: &Runs, at: usize, out: &mut [f32]) -> usize {
    let (mut to, mut vector) = (0, 0);
    while vector < VECTORS {
        let first = at + vector * V::LANES;
        match &runs.windows {
            None => {
                found[vector].store(&mut out[to..]);
                to += V::LANES;
            }
            Some(windows) => {
                let lanes = windows[first / MOST_LANES] >> (first % MOST_LANES) & ((1 << V::LANES) - 1);
                found[vector].store_some(lanes, &mut out[to..]);
                to += lanes.count_ones() as usize;
            }
        }
        vector += 1;
    }
    if runs.windows.is_none() { to.min(runs.length - at) } else { to }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks so many planes of windows of three by three taps against values taken one by one.
    fn check(processor: Processor, reducer: Reducer, count: usize, (rows, columns): (usize, usize)) {
        let pitch = columns + 2;
        let length = (rows + 2) * pitch;
        let offsets: Vec<usize> = (0..9).map(|tap| tap / 3 * pitch + tap % 3).collect();
        let planes: Vec<f32> = (0..count * length + BLOCK).map(|at| ((at * 37 + 11) % 23) as f32 - 11.0).collect();
        let factors: Vec<f32> = (0..count * 9).map(|at| ((at * 13 + 5) % 7) as f32 - 3.0).collect();
        let runs = Runs::new(rows, columns, pitch);
        let tapped = Tapped { runs: &runs, planes: &planes, length, offsets: &offsets, factors: (&factors, 9), count };
        let mut out = vec![f32::NAN; count * rows * columns + BLOCK];
        tapped.reduce(processor, reducer, &mut out);
        for (at, found) in out[..count * rows * columns].iter().enumerate() {
            let (plane, row, column) = (at / (rows * columns), at / columns % rows, at % columns);
            let value = |tap: usize| planes[plane * length + row * pitch + column + offsets[tap]];
            let expected = match reducer {
                Reducer::Maximum => (0..9).map(value).fold(f32::NEG_INFINITY, f32::max),
                Reducer::Minimum => (0..9).map(value).fold(f32::INFINITY, f32::min),
                Reducer::Sum | Reducer::Product => (0..9).map(|tap| value(tap) * factors[plane * 9 + tap]).sum(),
            };
            assert_eq!(*found, expected, "{reducer:?} of {count} planes of {rows}x{columns}: window {at}");
        }
    }

    #[test]
    fn windows_of_any_planes_are_reduced() {
        for processor in Processor::all() {
            for reducer in [Reducer::Sum, Reducer::Maximum, Reducer::Minimum] {
                for planes in [1, 2, 3, 4, 8, 9, 21] {
                    let sizes =
                        [(1, 1), (1, 16), (2, 2), (3, 5), (4, 4), (5, 5), (7, 7), (14, 14), (13, 16), (3, 40), (1, 70)];
                    sizes.into_iter().for_each(|size| check(processor, reducer, planes, size));
                }
            }
        }
    }
}
