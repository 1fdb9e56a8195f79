//! Indices prepared for evaluation at many points at once.

use crate::arena::{Arena, Id};
use crate::expr::{Atom, Axis, AxisId, AxisKind, Index, IndirectIndex};

/// The values of the axes at the points of a block: one per point for parallel axes, one in all for reduced axes.
pub(super) struct Points {
    /// The number of points in the block.
    pub(super) count: usize,
    /// For each axis, its value at every point; empty for reduced axes.
    pub(super) parallel: Vec<Vec<i64>>,
    /// For each axis, its current value; meaningful for reduced axes.
    pub(super) reduced: Vec<i64>,
}

/// An index split by how often its parts change.
#[derive(Debug)]
pub(super) struct Form {
    /// Changes once a block: the constant and all that depends on parallel axes only.
    fixed: Index,
    /// Multiples of reduced axes: one number for all points.
    uniform: Vec<(usize, i64)>,
    /// What must be computed again at every reduced point.
    moving: Vec<(Atom, i64)>,
    /// The fixed part at every point of the block.
    base: Vec<i64>,
    /// Whether the value differs between reduced points, the values of other reads being the same.
    varies: bool,
}

impl Form {
    pub(super) fn new(index: &Index, axes: &Arena<AxisId, Axis>) -> Self {
        let mut form = Self {
            fixed: Index::constant(index.offset()),
            uniform: Vec::new(),
            moving: Vec::new(),
            base: Vec::new(),
            varies: false,
        };
        index.visit(&mut |axis| form.varies |= axes[axis].kind == AxisKind::Reduced, &mut |_| {});
        for (atom, coefficient) in index.terms() {
            match atom {
                Atom::Axis(axis) if axes[*axis].kind == AxisKind::Reduced => {
                    form.uniform.push((axis.index(), *coefficient));
                }
                atom if is_fixed(atom, axes) => {
                    form.fixed = form.fixed.add(&Index::of(atom.clone()).times(*coefficient));
                }
                atom => form.moving.push((atom.clone(), *coefficient)),
            }
        }
        form
    }

    /// Whether the value differs between reduced points, the values of other reads being the same.
    pub(super) fn varies(&self) -> bool {
        self.varies
    }

    /// Computes the fixed part for a new block.
    pub(super) fn start(&mut self, points: &Points) {
        self.base.clear();
        self.base.resize(points.count, self.fixed.offset());
        for (atom, coefficient) in self.fixed.terms() {
            accumulate(&mut self.base, atom, *coefficient, points, &|_| unreachable!("a fixed part reads nothing"));
        }
    }

    /// Calls `use_value` with the index at each point, in order.
    pub(super) fn each<'v>(
        &self,
        points: &Points,
        values: &impl Fn(IndirectIndex) -> &'v [i64],
        mut use_value: impl FnMut(usize, i64),
    ) {
        let shift: i64 = self.uniform.iter().map(|(axis, coefficient)| points.reduced[*axis] * coefficient).sum();
        if self.moving.is_empty() {
            for (point, base) in self.base.iter().enumerate() {
                use_value(point, base + shift);
            }
            return;
        }
        let mut total = self.base.clone();
        for (atom, coefficient) in &self.moving {
            accumulate(&mut total, atom, *coefficient, points, values);
        }
        for (point, value) in total.iter().enumerate() {
            use_value(point, value.wrapping_add(shift));
        }
    }
}

/// Adds `coefficient · atom` at every point.
fn accumulate<'v>(
    total: &mut [i64],
    atom: &Atom,
    coefficient: i64,
    points: &Points,
    values: &impl Fn(IndirectIndex) -> &'v [i64],
) {
    let mut inner_then = |inner: &Index, function: &dyn Fn(i64) -> i64| {
        let mut lanes = vec![inner.offset(); total.len()];
        for (atom, coefficient) in inner.terms() {
            accumulate(&mut lanes, atom, *coefficient, points, values);
        }
        for (total, lane) in total.iter_mut().zip(lanes) {
            *total = total.wrapping_add(function(lane).wrapping_mul(coefficient));
        }
    };
    match atom {
        Atom::FloorDiv(inner, divisor) => inner_then(inner, &|value| value.div_euclid(*divisor)),
        Atom::Mod(inner, divisor) => inner_then(inner, &|value| value.rem_euclid(*divisor)),
        Atom::Clamp(inner, low, high) => inner_then(inner, &|value| value.clamp(*low, *high)),
        Atom::Axis(axis) => {
            let lanes = &points.parallel[axis.index()];
            if lanes.is_empty() {
                let value = points.reduced[axis.index()] * coefficient;
                total.iter_mut().for_each(|total| *total += value);
            } else {
                total.iter_mut().zip(lanes).for_each(|(total, lane)| *total += lane * coefficient);
            }
        }
        Atom::Indirect(place) => {
            for (total, value) in total.iter_mut().zip(values(*place)) {
                *total = total.wrapping_add(value.wrapping_mul(coefficient));
            }
        }
    }
}

/// Whether an atom depends on parallel axes only.
fn is_fixed(atom: &Atom, axes: &Arena<AxisId, Axis>) -> bool {
    let (mut parallel, mut free) = (true, true);
    Index::of(atom.clone()).visit(&mut |axis| parallel &= axes[axis].kind == AxisKind::Parallel, &mut |_| free = false);
    parallel && free
}
