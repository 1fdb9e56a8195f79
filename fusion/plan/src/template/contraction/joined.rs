//! Reduced axes that are one axis to a factor: those along which it reads on without a gap.

use warpweave_graph::expr::{AxisId, Index, Read, Scalar, TensorExpr};

use crate::body::{GroupBody, StageSource};
use crate::template::contraction::{AxisClass, Contraction};

/// The reduction as a factor walks it: neighbouring axes are one where that makes no difference to the factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinedReduction {
    /// Points along each joined axis, the last fastest.
    pub extents: Vec<usize>,
    /// Per joined axis, the position among the reduced axes of the one whose coordinate it is: the innermost. Of those joined with
    /// it the coordinates are 0.
    pub positions: Vec<usize>,
}

impl JoinedReduction {
    /// That of the factor of a class. `element` says where a read of a tensor in memory lies, as a number of its axes; none of other
    /// reads, of which nothing is joined.
    pub fn new(
        body: &GroupBody,
        contraction: &Contraction,
        class: AxisClass,
        element: impl Fn(usize, &Read) -> Index,
    ) -> Self {
        let expr = &body.stages[0].expr;
        let axes = contraction.axes(AxisClass::Reduction);
        let numbers = numbers(body, contraction.factor(class), element);
        let mut joined = Self { extents: Vec::new(), positions: Vec::new() };
        for (position, &axis) in axes.iter().enumerate() {
            let extent = expr.axes[axis].extent;
            let goes_on = |outer: AxisId| {
                let numbers = numbers.as_ref()?;
                Some(numbers.iter().all(|number| are_one(expr, number, outer, axis)))
            };
            let outer = position.checked_sub(1).map(|before| axes[before]);
            match (joined.extents.last_mut(), joined.positions.last_mut()) {
                (Some(points), Some(last)) if outer.and_then(goes_on) == Some(true) => {
                    *points *= extent;
                    *last = position;
                }
                _ => {
                    joined.extents.push(extent);
                    joined.positions.push(position);
                }
            }
        }
        joined
    }
}

/// All that a factor takes of the axes; none if a part of it is no linear number of them, or lies in no tensor in memory.
fn numbers(body: &GroupBody, factor: &Scalar, element: impl Fn(usize, &Read) -> Index) -> Option<Vec<Index>> {
    let stage = &body.stages[0];
    let mut found = Vec::new();
    for id in stage.expr.reads_of(factor) {
        let read = &stage.expr.reads[id];
        let StageSource::Operand(operand) = stage.sources[read.operand] else { return None };
        found.push(element(operand, read));
        found.extend(read.guard.conditions().iter().map(|condition| condition.index.clone()));
    }
    factor.visit(&mut |scalar| {
        if let Scalar::Index(index, _) = scalar {
            found.push(index.clone());
        }
    });
    found.iter().all(Index::is_affine).then_some(found)
}

/// Whether a step along the outer axis is to a number what all steps along the inner axis are.
fn are_one(expr: &TensorExpr, number: &Index, outer: AxisId, inner: AxisId) -> bool {
    let step = number.coefficient(inner) * expr.axes[inner].extent as i64;
    number.coefficient(outer) == step || expr.axes[outer].extent == 1
}
