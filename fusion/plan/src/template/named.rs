//! Places that data name in a reduction.

use warpweave_graph::expr::{AxisKind, IndirectIndex, ReadId, TensorExpr};

use crate::template::contraction::index_axes;

/// The places that an expression's reads name, each once: those that are the same at all points of its reduction, and those
/// that are named again at every point.
pub fn named_places(expr: &TensorExpr) -> (Vec<IndirectIndex>, Vec<IndirectIndex>) {
    expr.indirect_indices().into_iter().partition(|place| is_fixed(expr, place.read))
}

/// Whether a read is of the same element, under the same conditions, at all points of an expression's reduction.
pub fn is_fixed(expr: &TensorExpr, read: ReadId) -> bool {
    let read = &expr.reads[read];
    let conditions = read.guard.conditions().iter().map(|condition| condition.index.clone());
    let indices: Vec<_> = read.index.iter().cloned().chain(conditions).collect();
    index_axes(expr, &indices).into_iter().all(|axis| expr.axes[axis].kind == AxisKind::Parallel)
}
