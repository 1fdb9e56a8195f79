//! Which region of an operand a box of the output reads.

use super::{AxisId, Index, Range, ReadId, TensorExpr};
use crate::arena::Id;

/// The box of its operand that a read touches while every axis stays in its range of `axes` (one range an axis, in
/// arena order). `None` if the guard never holds there. The box lies inside the operand and may over-approximate; an
/// indirect index reads the whole dimension.
///
/// This is where tile footprints, dependencies and the plan checker's obligations come from.
pub fn input_region(expr: &TensorExpr, read: ReadId, axes: &[Range]) -> Option<Vec<Range>> {
    let read = &expr.reads[read];
    let ranges = |axis: AxisId| axes[axis.index()];
    let holds = |index: &Index, lower: i64, upper: i64| {
        let range = index.range(&ranges);
        range.maximum >= lower && range.minimum < upper
    };
    if !read.guard.conditions().iter().all(|condition| holds(&condition.index, condition.lower, condition.upper)) {
        return None;
    }
    let extents = &expr.operands[read.operand].shape;
    if extents.contains(&0) {
        return None;
    }
    let region = read.index.iter().zip(extents.iter()).map(|(index, &extent)| {
        let last = extent as i64 - 1;
        if !index.is_free_of_reads() {
            return Range { minimum: 0, maximum: last };
        }
        let range = index.range(&ranges);
        Range { minimum: range.minimum.clamp(0, last), maximum: range.maximum.clamp(0, last) }
    });
    Some(region.collect())
}

/// The whole range of every axis of an expression, in arena order.
pub fn whole(expr: &TensorExpr) -> Vec<Range> {
    expr.axes.ids().map(|axis| expr.range(axis)).collect()
}
