//! Runs of neighbouring elements of a factor's side of a tile, and the steps of its reduction.

use std::ops::Range as Numbers;

use warpweave_graph::expr::Range;

use super::access::{Access, Linear, common_divisor};

/// The order in which a reduction is summed. The values of the outer axes come one after another. For each of them come
/// some neighbouring values of the inner axis, along which factors are linear and no condition of theirs changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Steps {
    /// Axes with their extents, the last fastest; of the inner axis, which may be the last, the number of pieces.
    outer: Vec<(usize, usize)>,
    pub(super) inner: Option<usize>,
    /// Values of a piece of the inner axis; 1 if there is none.
    length: usize,
}

impl Steps {
    /// The steps along these axes with their extents, of factors that lie there.
    pub(super) fn new(axes: &[(usize, usize)], factors: &[&Access]) -> Self {
        let is_free = |axis: usize| !factors.iter().any(|factor| factor.is_guarded_along(axis));
        let piece = |(axis, extent)| factors.iter().map(|factor| factor.piece(axis)).fold(extent, common_divisor);
        let long = |&&(axis, extent): &&(usize, usize)| is_free(axis) && piece((axis, extent)) > 1;
        let inner = axes.iter().filter(long).max_by_key(|axis| piece(**axis)).copied();
        let outer = axes.iter().copied().filter(|axis| Some(*axis) != inner && axis.1 != 1);
        let length = inner.map_or(1, piece);
        let pieces = inner.map(|(axis, extent)| (axis, extent / length)).filter(|(_, pieces)| *pieces > 1);
        Self { outer: outer.chain(pieces).collect(), inner: inner.map(|(axis, _)| axis), length }
    }

    /// The steps along these axes with their extents in this order, the last fastest, of a factor that lies there.
    pub(super) fn in_order(axes: &[(usize, usize)], factor: &Access) -> Self {
        let mut outer: Vec<(usize, usize)> = axes.iter().copied().filter(|(_, extent)| *extent != 1).collect();
        let inner = outer.pop_if(|(axis, extent)| !factor.is_guarded_along(*axis) && factor.piece(*axis) == *extent);
        Self { outer, inner: inner.map(|(axis, _)| axis), length: inner.map_or(1, |(_, extent)| extent) }
    }

    /// The number of steps.
    pub(super) fn count(&self) -> usize {
        self.length * self.outer.iter().map(|(_, extent)| extent).product::<usize>()
    }

    /// What the outer axes add to a number, where `value` gives the values of them.
    pub(super) fn moved(&self, number: &Linear, value: &dyn Fn(usize) -> i64) -> i64 {
        let scale = |axis: usize| if self.inner == Some(axis) { self.length as i64 } else { 1 };
        self.outer.iter().map(|&(axis, _)| number.moved(axis, value(axis) * scale(axis))).sum()
    }

    /// Calls with the values of all outer axes, as (axis, value), some steps along the inner axis, and the number of
    /// the first of them in a block of steps. A call has at most `most` steps.
    pub(super) fn for_each(
        &self,
        block: Numbers<usize>,
        most: usize,
        mut body: impl FnMut(&dyn Fn(usize) -> i64, Numbers<usize>, usize),
    ) {
        let mut step = block.start;
        while step < block.end {
            let (number, first) = (step / self.length, step % self.length);
            let last = self.length.min(first + (block.end - step).min(most));
            let value = |wanted: usize| {
                let mut rest = number;
                for &(axis, extent) in self.outer.iter().rev() {
                    if axis == wanted {
                        return (rest % extent) as i64;
                    }
                    rest /= extent;
                }
                0
            };
            body(&value, first..last, step - block.start);
            step += last - first;
        }
    }
}

/// Neighbouring elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// The number of the first on its side of the tile.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The position of the first at step 0.
    pub(super) position: i64,
}

/// The elements of a side of a tile as runs along one axis.
#[derive(Default, Debug)]
pub(super) struct Runs {
    /// The axis; none if the side has one element.
    pub(super) axis: Option<usize>,
    pub(super) elements: usize,
    pub(super) runs: Vec<Run>,
    /// For every run the number of each condition at its first element and step 0.
    pub(super) numbers: Vec<i64>,
}

impl Runs {
    /// The run, if there is one.
    pub(super) fn only(&self) -> Option<Run> {
        let [run] = self.runs[..] else { return None };
        Some(run)
    }

    /// Sets these to one run along an axis, of elements that are read without conditions.
    pub(super) fn set(&mut self, axis: Option<usize>, run: Run) {
        (self.axis, self.elements) = (axis, run.count);
        self.runs.clear();
        self.runs.push(run);
        self.numbers.clear();
    }

    /// Sets these to the elements along `axes` of the tile at `point`, whose reduced axes are 0.
    pub(super) fn find(&mut self, access: &Access, axes: &[usize], tile: &[Range], point: &mut [i64]) {
        self.runs.clear();
        self.numbers.clear();
        let length = |axis: usize| (tile[axis].maximum - tile[axis].minimum + 1).max(0);
        axes.iter().for_each(|&axis| point[axis] = tile[axis].minimum);
        let long = |axis: &&usize| length(**axis) != 1;
        let mut inside = axes.iter().rev().filter(long).copied().peekable();
        self.axis = inside.next();
        let mut count = self.axis.map_or(1, length);
        let piece = self.axis.map_or(1, |axis| access.piece(axis)).max(1);
        if let Some(inner) = self.axis {
            while let Some(outer) = inside.next_if(|&outer| access.merges(outer, inner, count)) {
                count *= length(outer);
            }
        }
        let is_whole = self.axis.is_none_or(|axis| access.is_linear_along(axis));
        let outside: Vec<usize> = inside.collect();
        let total: i64 = outside.iter().map(|&axis| length(axis)).product();
        self.elements = (total * count) as usize;
        for number in 0..total {
            let mut rest = number;
            for &axis in &outside {
                point[axis] = tile[axis].minimum + rest % length(axis);
                rest /= length(axis);
            }
            let mut from = 0;
            while from < count {
                // A run ends where a piece of its axis does; merged axes have one piece.
                let start = self.axis.map_or(0, |axis| tile[axis].minimum) + from;
                let to = if is_whole { count } else { count.min(from + piece as i64 - start % piece as i64) };
                if let Some(axis) = self.axis {
                    point[axis] = start;
                }
                let first = (number * count + from) as usize;
                self.runs.push(Run { first, count: (to - from) as usize, position: access.position.at(point) });
                self.numbers.extend(access.conditions.iter().map(|condition| condition.number.at(point)));
                from = to;
            }
        }
        axes.iter().for_each(|&axis| point[axis] = tile[axis].minimum);
    }
}
