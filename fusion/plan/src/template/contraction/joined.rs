//! Reduced axes that are one axis to a factor: those along which it reads on without a gap.

use warpweave_graph::expr::{AxisId, Index, Read, Scalar};

use crate::body::{GroupBody, StageSource};
use crate::template::contraction::tile_load::linear;
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
    /// That of the factor of a class whose operands are laid out row by row.
    pub fn of_rows(body: &GroupBody, contraction: &Contraction, class: AxisClass) -> Self {
        Self::new(body, contraction, class, |_, read| linear(body, read))
    }

    /// That of the factor of a class. `element` says at which element of a tensor in memory a read is, as a number that follows from the
    /// axes; its first argument is the position of the operand among those of the body. Of a factor that reads anything else no axes
    /// are joined.
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
                let is_one = |number: &Index| number.coefficient(outer) == number.coefficient(axis) * extent as i64;
                Some(numbers.iter().all(is_one))
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
