//! One dimension of windows that move over a tensor.

use std::ops::Range as Numbers;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, Condition, Index, Range};

/// One dimension: the coordinate `step · axis + Σ factor · tap + origin`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WindowDimension {
    /// The tile axis along which windows move; none if they do not.
    pub(super) axis: Option<usize>,
    /// Coordinates from one window to the next.
    pub(super) step: i64,
    /// Elements from one coordinate to the next.
    pub(super) stride: i64,
    /// The coordinates, where the axis is 0, of the tap that is 0 along all axes, and of the least tap.
    pub(super) origin: i64,
    pub(super) first: i64,
    /// Coordinates from the least tap to the greatest.
    span: i64,
    /// The coordinates that are read.
    lower: i64,
    upper: i64,
    /// The reduced axes of the taps.
    pub(super) taps: Vec<Tap>,
}

/// A reduced axis of taps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tap {
    pub(super) axis: usize,
    pub(super) extent: usize,
    /// Coordinates from one value to the next.
    factor: i64,
}

impl WindowDimension {
    /// A dimension of one coordinate.
    pub(super) const SINGLE: Self =
        Self { axis: None, step: 1, stride: 0, origin: 0, first: 0, span: 0, lower: 0, upper: 1, taps: Vec::new() };

    /// The dimension, of so many coordinates, that an index of a read is, where the first `rank` axes are those of tiles;
    /// `None` if it is none. Its stride is 0 so far.
    pub(super) fn new(index: &Index, length: usize, extents: &[usize], rank: usize) -> Option<Self> {
        let (mut axis, mut step, mut taps) = (None, 1, Vec::new());
        for (atom, coefficient) in index.terms() {
            let Atom::Axis(own) = atom else { return None };
            let own = own.index();
            if own >= rank {
                taps.push(Tap { axis: own, extent: extents[own], factor: *coefficient });
            } else if axis.is_none() && *coefficient > 0 {
                (axis, step) = (Some(own), *coefficient);
            } else {
                return None;
            }
        }
        let along = |tap: &Tap| (tap.extent.max(1) as i64 - 1).checked_mul(tap.factor);
        let ends: Vec<i64> = taps.iter().map(along).collect::<Option<_>>()?;
        let sum = |of: fn(i64) -> i64| ends.iter().try_fold(0i64, |sum, &end| sum.checked_add(of(end)));
        let (least, span) = (sum(|end| end.min(0))?, sum(i64::saturating_abs)?);
        let (origin, upper) = (index.offset(), length as i64);
        Some(Self { axis, step, origin, first: origin + least, span, upper, taps, ..Self::SINGLE })
    }

    /// Restricts the coordinates, which `index` gives, to those for which a condition holds; whether it is one on them.
    pub(super) fn narrow(&mut self, index: &Index, condition: &Condition) -> bool {
        let Some(shift) = condition.index.add(&index.times(-1)).as_constant() else { return false };
        self.lower = self.lower.max(condition.lower - shift);
        self.upper = self.upper.min(condition.upper - shift);
        true
    }

    /// Finds the stride, where `along` gives the elements from one value of an axis to the next; whether all axes have it.
    pub(super) fn measure(&mut self, along: impl Fn(usize) -> i64) -> bool {
        let of_taps = self.taps.iter().filter(|tap| tap.extent != 1).map(|tap| (tap.axis, tap.factor));
        let all: Vec<(usize, i64)> = self.axis.map(|axis| (axis, self.step)).into_iter().chain(of_taps).collect();
        self.stride = all.first().map_or(0, |&(axis, factor)| along(axis).checked_div(factor).unwrap_or(0));
        all.iter().all(|&(axis, factor)| factor.checked_mul(self.stride) == Some(along(axis)))
    }

    /// How far a coordinate, from the least tap of the first window on, is from that of the tap that is 0 along all axes.
    pub(super) fn place(&self, coordinate: usize) -> i64 {
        (self.first - self.origin + coordinate as i64) * self.stride
    }

    /// The number of taps.
    pub(super) fn tap_count(&self) -> usize {
        self.taps.iter().map(|tap| tap.extent).product()
    }

    /// Where a tap lies, of this number with the last axis fastest: coordinates beyond the least tap.
    fn tap(&self, mut number: usize) -> i64 {
        let mut beyond = self.origin - self.first;
        for tap in self.taps.iter().rev() {
            beyond += (number % tap.extent) as i64 * tap.factor;
            number /= tap.extent;
        }
        beyond
    }

    /// The residue of a tap's coordinate by the step, and whole steps beyond the least tap.
    pub(super) fn tap_place(&self, number: usize) -> (usize, usize) {
        self.split(self.tap(number))
    }

    /// The same of the tap at a point.
    pub(super) fn place_at(&self, point: &[i64]) -> (usize, usize) {
        let along = self.taps.iter().map(|tap| point[tap.axis] * tap.factor);
        self.split(along.sum::<i64>() + self.origin - self.first)
    }

    fn split(&self, beyond: i64) -> (usize, usize) {
        ((beyond % self.step) as usize, (beyond / self.step) as usize)
    }

    /// Whether taps lie at every coordinate from the least to the greatest.
    pub(super) fn is_dense(&self) -> bool {
        let mut all: Vec<i64> = (0..self.tap_count()).map(|number| self.tap(number)).collect();
        all.sort_unstable();
        all.dedup();
        all.len() as i64 == self.span + 1
    }

    /// Residues that taps have.
    pub(super) fn phases(&self) -> usize {
        self.span.min(self.step - 1) as usize + 1
    }

    /// Whole steps that taps reach beyond the least.
    pub(super) fn reach(&self) -> usize {
        (self.span / self.step) as usize
    }

    /// Which columns of the plane of a residue are read, of `width`, where `inside` are the coordinates that are.
    pub(super) fn columns(&self, residue: usize, inside: &Numbers<usize>, width: usize) -> Numbers<usize> {
        let number = |coordinate: usize| coordinate.saturating_sub(residue).div_ceil(self.step as usize).min(width);
        number(inside.start)..number(inside.end).max(number(inside.start))
    }

    /// Windows of a tile.
    pub(super) fn count(&self, tile: &[Range]) -> usize {
        self.axis.map_or(1, |axis| (tile[axis].maximum - tile[axis].minimum + 1).max(0) as usize)
    }

    /// Which coordinates are read of those that so many windows from one on cover, as numbers from the least tap of the first on.
    pub(super) fn covered(&self, window: i64, windows: usize) -> Numbers<usize> {
        let first = self.first + window * self.step;
        let count = (windows.max(1) as i64 - 1) * self.step + self.span + 1;
        let clamp = |coordinate: i64| coordinate.saturating_sub(first).clamp(0, count) as usize;
        clamp(self.lower)..clamp(self.upper).max(clamp(self.lower))
    }
}
