//! Values of taps, combined window by window.

use warpweave_graph::expr::Reducer;

use super::super::arithmetic::functions::{maximum, minimum};
use super::super::arithmetic::processor::{Processor, of_vectors, vectorised};
use super::tapping::Runs;
use crate::host::simd::{MOST_LANES, Vector};

/// Values beyond the last plane that are read and mean nothing.
pub(super) const BLOCK: usize = 64;

/// Short runs that are summed together.
const TOGETHER: usize = 4;

/// Lanes of a small block.
const SMALL_BLOCK: usize = 8;

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
            Reducer::Maximum | Reducer::Minimum => extremes(processor, reducer, self, out),
        }
    }
}

of_vectors! {
fn sums<V>(processor, of: &Tapped<'_>, out: &mut [f32]) {
    let Tapped { runs, length, offsets, factors: (factors, stride), .. } = *of;
    let mut to = 0;
    for number in 0..of.count {
        let (planes, factors) = (&of.planes[number * length..], &factors[number * stride..][..offsets.len()]);
        let mut first = 0;
        if runs.windows.is_none() && runs.length <= V::LANES {
            while runs.count - first >= TOGETHER {
                let planes = &planes[first * runs.pitch..];
                sum_rows::<V, TOGETHER>(planes, offsets, factors, runs, &mut out[to..]);
                (first, to) = (first + TOGETHER, to + TOGETHER * runs.length);
            }
        }
        for run in first..runs.count {
            let mut at = 0;
            while at < runs.length {
                let (planes, out) = (&planes[run * runs.pitch + at..], &mut out[to..]);
                let vectors = (runs.length - at).div_ceil(V::LANES);
                let (vectors, written) = match vectors {
                    1 => (1, sum_block::<V, 1>(planes, offsets, factors, runs, at, out)),
                    2..4 => (2, sum_block::<V, 2>(planes, offsets, factors, runs, at, out)),
                    _ => (4, sum_block::<V, 4>(planes, offsets, factors, runs, at, out)),
                };
                at += vectors * V::LANES;
                to += written;
            }
        }
    }
}
}

/// The sums of so many runs of no more than a vector. What a store writes beyond its run the next one writes anew.
#[inline(always)]
fn sum_rows<V: Vector, const ROWS: usize>(
    planes: &[f32],
    offsets: &[usize],
    factors: &[f32],
    runs: &Runs,
    out: &mut [f32],
) {
    let mut sums = [V::splat(0.0); ROWS];
    let reach = (ROWS - 1) * runs.pitch + V::LANES;
    let mut tap = 0;
    while tap < offsets.len() {
        let (factor, values) = (V::splat(factors[tap]), &planes[offsets[tap]..][..reach]);
        let mut row = 0;
        while row < ROWS {
            sums[row] = V::load(&values[row * runs.pitch..]).multiply_add(factor, sums[row]);
            row += 1;
        }
        tap += 1;
    }
    let mut row = 0;
    while row < ROWS {
        sums[row].store(&mut out[row * runs.length..]);
        row += 1;
    }
}

/// The sums of so many vectors of a run from an element on; returns how many are written.
#[inline(always)]
fn sum_block<V: Vector, const VECTORS: usize>(
    planes: &[f32],
    offsets: &[usize],
    factors: &[f32],
    runs: &Runs,
    at: usize,
    out: &mut [f32],
) -> usize {
    let mut sums = [V::splat(0.0); VECTORS];
    let mut tap = 0;
    while tap < offsets.len() {
        let (factor, values) = (V::splat(factors[tap]), &planes[offsets[tap]..][..VECTORS * V::LANES]);
        let mut vector = 0;
        while vector < VECTORS {
            sums[vector] = V::load(&values[vector * V::LANES..]).multiply_add(factor, sums[vector]);
            vector += 1;
        }
        tap += 1;
    }
    let (mut to, mut vector) = (0, 0);
    while vector < VECTORS {
        let first = at + vector * V::LANES;
        match &runs.windows {
            None => {
                sums[vector].store(&mut out[to..]);
                to += V::LANES;
            }
            Some(windows) => {
                let lanes = windows[first / MOST_LANES] >> (first % MOST_LANES) & ((1 << V::LANES) - 1);
                sums[vector].store_some(lanes, &mut out[to..]);
                to += lanes.count_ones() as usize;
            }
        }
        vector += 1;
    }
    if runs.windows.is_none() { to.min(runs.length - at) } else { to }
}

vectorised! {
fn extremes<I>(processor, reducer: Reducer, of: &Tapped<'_>, out: &mut [f32]) {
    let runs = of.runs;
    for number in 0..of.count * runs.count {
        let (plane, run) = (number / runs.count, number % runs.count);
        let planes = &of.planes[plane * of.length + run * runs.pitch..];
        let out = &mut out[number * runs.length..][..runs.length];
        match reducer {
            Reducer::Minimum => of_run(planes, of.offsets, out, minimum),
            _ => of_run(planes, of.offsets, out, maximum),
        }
    }
}
}

#[inline(always)]
fn of_run(planes: &[f32], offsets: &[usize], out: &mut [f32], combine: impl Fn(f32, f32) -> f32) {
    let mut at = 0;
    while out.len() > at + SMALL_BLOCK {
        block::<BLOCK>(planes, offsets, at, out, &combine);
        at += BLOCK;
    }
    if at < out.len() {
        block::<SMALL_BLOCK>(planes, offsets, at, out, &combine);
    }
}

#[inline(always)]
fn block<const N: usize>(
    planes: &[f32],
    offsets: &[usize],
    at: usize,
    out: &mut [f32],
    combine: &impl Fn(f32, f32) -> f32,
) {
    let value = |tap: usize| planes[offsets[tap] + at..].first_chunk::<N>().expect("a plane ends with a block");
    let mut best = *value(0);
    for tap in 1..offsets.len() {
        best.iter_mut().zip(value(tap)).for_each(|(best, x)| *best = combine(*best, *x));
    }
    let left = (out.len() - at).min(N);
    out[at..][..left].copy_from_slice(&best[..left]);
}
