//! Gradients of tables that are read through an index, as an embedding is.
//!
//! The gradient of such a table adds each slice's gradient where the slice's key says: a sum by keys.

use crate::arena::Id;
use crate::expr::parts::{axes_behind, with_used_reads};
use crate::expr::{Atom, Axis, AxisId, AxisKind, Index, IndirectIndex, Read, ReadId, Scalar, TensorExpr, substitute};
use crate::ops::indexing::keyed_sums::KEY;
use crate::types::TensorType;

use super::points::Points;

/// Most places of a table that are each compared with every key, however many slices there are.
const MOST_COMPARED_PLACES: usize = 32;

/// Most slices whose keys are each compared with every place, however many places there are.
const MOST_COMPARED_SLICES: usize = 4;

/// A read of slices of a table at places that another read gives.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Lookup {
    /// The dimension of the table that the places are of.
    pub dimension: usize,
    place: IndirectIndex,
    /// The axes that the places depend on: a slice for each of their points.
    axes: Vec<AxisId>,
    slices: usize,
}

impl Points {
    /// The lookup that a read is, if its table and its slices are so many that sorting them pays.
    pub fn lookup(&self, read: ReadId) -> Option<Lookup> {
        let Read { operand, index, guard, .. } = &self.expr.reads[read];
        let indirect: Vec<usize> = (0..index.len()).filter(|&at| !index[at].is_free_of_reads()).collect();
        let &[dimension] = indirect.as_slice() else { return None };
        let [(Atom::Indirect(place), 1)] = index[dimension].terms() else { return None };
        let mut axes = axes_behind(&self.expr, place.read);
        axes.sort();
        axes.dedup();
        let slices = axes.iter().map(|&axis| self.expr.axes[axis].extent).product();
        let mut is_apart = index[dimension].offset() == 0 && guard.is_always();
        for other in index.iter().filter(|index| index.is_free_of_reads()) {
            other.visit(&mut |axis| is_apart &= !axes.contains(&axis), &mut |_| {});
        }
        let places = self.expr.operands[*operand].shape[dimension];
        let pays = places > MOST_COMPARED_PLACES && slices > MOST_COMPARED_SLICES;
        (is_apart && pays).then_some(Lookup { dimension, place: *place, axes, slices })
    }

    /// The same points with one more operand, the slices `[slices, …the table's other dimensions]`, and the read that gives
    /// from it what `read` gives.
    pub fn with_slices(&self, read: ReadId, lookup: &Lookup) -> (Self, ReadId) {
        let Read { operand, mut index, .. } = self.expr.reads[read].clone();
        let TensorType { element, shape } = self.expr.operands[operand].clone();
        let mut extents = shape.to_vec();
        extents.remove(lookup.dimension);
        extents.insert(0, lookup.slices);
        index.remove(lookup.dimension);
        let number = lookup.axes.iter().fold(Index::constant(0), |number, &axis| {
            number.times(self.expr.axes[axis].extent as i64).add(&Index::axis(axis))
        });
        index.insert(0, number);
        self.with_source(read, TensorType { element, shape: extents.into() }, index)
    }

    /// The place of each slice, `[slices]`, over the points' operands.
    pub fn keys(&self, lookup: &Lookup) -> TensorExpr {
        let axes = [Axis { extent: lookup.slices, kind: AxisKind::Parallel }].into_iter().collect();
        let range = |_: AxisId| crate::expr::Range { minimum: 0, maximum: lookup.slices as i64 - 1 };
        let mut replacement = vec![Index::constant(0); self.expr.axes.len()];
        let mut left = Index::axis(AxisId::from_index(0));
        for &axis in lookup.axes.iter().rev() {
            let extent = self.expr.axes[axis].extent as i64;
            replacement[axis.index()] = left.modulo(extent, &range);
            left = left.floor_div(extent, &range);
        }
        let key = Scalar::Index(Index::indirect(lookup.place.read, lookup.place.extent), KEY);
        let alone = TensorExpr { body: key, reducer: None, epilogue: None, element: KEY, ..self.expr.clone() };
        substitute::replace_axes(&with_used_reads(&alone), &axes, &replacement)
    }
}
