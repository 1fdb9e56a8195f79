//! What a stage reduces, as values that windows move over.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{BinaryOp, Condition, ReadId, Reducer, Scalar};

use super::super::frame::Kind;
use super::super::stage::{Source, StageReads};

/// Values that windows move over, and a factor a tap.
pub(super) struct Form<'s> {
    /// The values where all conditions hold.
    pub(super) moved: &'s Scalar,
    /// What it reads. The first is read at every tap.
    pub(super) reads: Vec<ReadId>,
    pub(super) conditions: &'s [Condition],
    /// The value elsewhere.
    pub(super) fill: f32,
    pub(super) factor: Option<ReadId>,
}

impl<'s> Form<'s> {
    /// All forms that a stage may have.
    pub(super) fn all(stage: &'s StageReads) -> Vec<Self> {
        let expr = &stage.expr;
        let is_single = Kind::of(expr.body_element()) == Kind::Single && stage.checks.is_empty();
        let mut found = Vec::new();
        match expr.reducer.filter(|_| is_single) {
            Some(Reducer::Sum) => {
                if let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body {
                    for (moved, factor) in [(left, right), (right, left)] {
                        let Scalar::Read(factor) = factor.as_ref() else { continue };
                        found.extend(Self::of(stage, moved, Some(*factor)));
                    }
                }
                found.extend(Self::of(stage, &expr.body, None));
            }
            Some(Reducer::Maximum | Reducer::Minimum) => found.extend(Self::of(stage, &expr.body, None)),
            Some(Reducer::Product) | None => {}
        }
        found
    }

    fn of(stage: &'s StageReads, scalar: &'s Scalar, factor: Option<ReadId>) -> Option<Self> {
        let expr = &stage.expr;
        let (moved, conditions, fill): (&Scalar, &[Condition], f32) = match scalar {
            Scalar::Read(read) => {
                let read = &expr.reads[*read];
                (scalar, read.guard.conditions(), read.fill.to_f64() as f32)
            }
            Scalar::Select(condition, then, otherwise) => {
                let (Scalar::Holds(guard), Scalar::Literal(fill)) = (condition.as_ref(), otherwise.as_ref()) else {
                    return None;
                };
                (then, guard.conditions(), fill.to_f64() as f32)
            }
            _ => (scalar, &[], 0.0),
        };
        let (mut reads, mut is_plain) = (Vec::new(), true);
        moved.visit(&mut |scalar| match scalar {
            Scalar::Read(read) => reads.push(*read),
            Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => is_plain = false,
            Scalar::Literal(_) | Scalar::Unary(..) | Scalar::Binary(..) | Scalar::Select(..) | Scalar::Cast(..) => {}
        });
        let is_tapped = |read: &ReadId| {
            let mut is_tapped = false;
            let reduced: Vec<usize> = expr.reduced().map(Id::index).collect();
            let index = &expr.reads[*read].index;
            index.iter().for_each(|at| at.visit(&mut |axis| is_tapped |= reduced.contains(&axis.index()), &mut |_| {}));
            is_tapped
        };
        let first = reads.iter().position(is_tapped)?;
        reads.swap(0, first);
        let are_inside = reads.iter().all(|read| {
            let guard = &expr.reads[*read].guard;
            let is_memory = matches!(stage.sources[*read], Source::Memory { .. });
            is_memory && guard.conditions().iter().all(|condition| conditions.contains(condition))
        });
        (is_plain && are_inside).then_some(Self { moved, reads, conditions, fill, factor })
    }
}
