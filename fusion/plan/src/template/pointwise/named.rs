//! Places that data name in a reduction.

use warpweave_graph::expr::{AxisKind, IndirectIndex, TensorExpr};

use crate::template::contraction::index_axes;

/// The places that an expression's reads name, each once: those that are the same at all points of its reduction, and those
/// that are named anew at every point.
pub fn named_places(expr: &TensorExpr) -> (Vec<IndirectIndex>, Vec<IndirectIndex>) {
    let is_fixed = |place: &IndirectIndex| {
        let read = &expr.reads[place.read];
        let conditions = read.guard.conditions().iter().map(|condition| condition.index.clone());
        let indices: Vec<_> = read.index.iter().cloned().chain(conditions).collect();
        index_axes(expr, &indices).into_iter().all(|axis| expr.axes[axis].kind == AxisKind::Parallel)
    };
    expr.indirect_indices().into_iter().partition(is_fixed)
}
