//! Values of taps, combined window by window.

use warpweave_graph::expr::Reducer;

use super::super::arithmetic::processor::{Processor, of_vectors};
use super::tapping::Runs;
use crate::host::simd::{MOST_LANES, Vector};

/// Values beyond the last plane that are read and mean nothing.
pub(super) const BLOCK: usize = 64;

/// Short runs that are reduced together.
const TOGETHER: usize = 4;

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
    let mut to = 0;
    for number in 0..of.count {
        let (planes, factors) = (&of.planes[number * length..], &factors[number * stride..][..offsets.len()]);
        let mut first = 0;
        if runs.windows.is_none() && runs.length <= V::LANES {
            while runs.count - first >= TOGETHER {
                let planes = &planes[first * runs.pitch..];
                rows::<V, C, TOGETHER>(planes, offsets, factors, runs, &mut out[to..]);
                (first, to) = (first + TOGETHER, to + TOGETHER * runs.length);
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

/// The combinations of so many runs of no more than a vector. What a store writes beyond its run the next one writes anew.
#[inline(always)]
fn rows<V: Vector, C: Combine, const ROWS: usize>(
    planes: &[f32],
    offsets: &[usize],
    factors: &[f32],
    runs: &Runs,
    out: &mut [f32],
) {
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
