//! Neighbours that one thread computes.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Guard, Index, Range, TensorExpr};

use crate::kernel::Kernel;
use crate::template::pointwise::rules::run_axis;
use crate::template::pointwise::{PointOrder, Pointwise};

/// Elements of a vector load or store.
pub const VECTOR: usize = 4;

/// The runs that the points of a tile are divided into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runs {
    /// The tile axis along which they lie.
    pub axis: AxisId,
    /// Points of a run.
    pub length: usize,
    /// Whether every run that begins inside the extents lies inside tile and extents.
    pub is_even: bool,
}

impl Runs {
    /// The runs of a tile; `None` where threads have no neighbours.
    pub fn of(own: Pointwise, kernel: &Kernel) -> Option<Self> {
        if own.order == PointOrder::Strided {
            return None;
        }
        let axis = run_axis(kernel.tile())?;
        let length = own.per_thread;
        let extents = [kernel.tile()[axis.index()], kernel.body().tile_extents()[axis.index()]];
        Some(Self { axis, length, is_even: extents.iter().all(|extent| extent.is_multiple_of(length)) })
    }

    /// Per tile axis, how many runs or points a tile has.
    pub fn grid(&self, tile: &[usize]) -> Vec<usize> {
        let mut grid = tile.to_vec();
        grid[self.axis.index()] = grid[self.axis.index()].div_ceil(self.length);
        grid
    }

    /// Whether a guard holds for all points of a run or for none.
    pub fn is_common(&self, guard: &Guard) -> bool {
        let mut depends = false;
        let conditions = guard.conditions().iter();
        conditions.for_each(|condition| {
            condition.index.visit(&mut |axis| depends |= axis == self.axis, &mut |_| {});
        });
        !depends
    }

    /// Whether vectors of a run are vectors in memory, given where its points lie there.
    pub fn is_wide(&self, expr: &TensorExpr, place: &Index) -> bool {
        let divides = |value: i64| value % VECTOR as i64 == 0;
        let others = expr.axes.ids().filter(|axis| *axis != self.axis && expr.axes[*axis].extent > 1);
        self.is_even
            && self.length.is_multiple_of(VECTOR)
            && place.terms().iter().all(|(atom, step)| match atom {
                Atom::Axis(_) => true,
                Atom::Indirect(_) => divides(*step),
                Atom::FloorDiv(..) | Atom::Mod(..) | Atom::Clamp(..) => false,
            })
            && place.coefficient(self.axis) == 1
            && divides(place.offset())
            && others.into_iter().all(|axis| divides(place.coefficient(axis)))
    }

    /// The range of an axis at the first point of a run.
    pub fn range(&self, expr: &TensorExpr, axis: AxisId) -> Range {
        let range = expr.range(axis);
        let last = if axis == self.axis && self.is_even { self.length as i64 - 1 } else { 0 };
        Range { maximum: (range.maximum - last).max(range.minimum), ..range }
    }
}
