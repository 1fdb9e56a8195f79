//! Reductions that are no sums, as points whose values are summed.
//!
//! The adjoint of a maximum goes to the elements that are equal to it, that of a product to each factor times the product of the
//! others. Both are written as sums of the same body over the same axes, with an adjoint or a factor of its own.

use super::points::Points;
use crate::expr::parts::with_used_reads;
use crate::expr::{Axis, AxisKind, BinaryOp, Guard, Index, Literal, Read, Reducer, Scalar, TensorExpr, UnaryOp};
use crate::ops::compose;
use crate::program::{ProgramBuilder, TensorId, Ties};
use crate::types::{ElementType, TensorType};

/// A statement that is a reduction without epilogue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction<'s> {
    pub expr: &'s TensorExpr,
    /// What it reads.
    pub operands: &'s [TensorId],
    /// What it defines.
    pub output: TensorId,
}

/// Points whose sum has the gradients of a reduction, with what they read and the adjoint of the sum.
#[derive(Clone, Debug)]
pub(super) struct Summed {
    pub points: Points,
    /// What they read.
    pub operands: Vec<TensorId>,
    pub adjoint: TensorId,
}

impl Reduction<'_> {
    /// The gradient of a maximum or minimum: `ties` says which of the equal elements get the adjoint; `None` if none of them does.
    pub fn extreme(self, adjoint: TensorId, ties: Ties, program: &mut ProgramBuilder) -> Option<Summed> {
        if ties == Ties::Cancelled {
            return None;
        }
        let compared = self.compared(program);
        match ties {
            Ties::Cancelled => None,
            Ties::Shared => {
                let count = self.reduced(program, &compared, Reducer::Sum, |expr, winner| {
                    let of = |value: f64| Scalar::literal(expr.element, value);
                    (expr.element, winner.select(of(1.0), of(0.0)))
                });
                let element = program.ty(adjoint).element;
                let share = compose::map(program, [adjoint, count], element, |[adjoint, count]| {
                    adjoint.binary(BinaryOp::Divide, count)
                });
                Some(self.masked(share, Chosen::All(&compared), program))
            }
            Ties::First | Ties::Last => {
                let number = place_in_reduction(self.expr);
                let (reducer, none) = match ties {
                    Ties::Last => (Reducer::Maximum, -1),
                    _ => (Reducer::Minimum, i64::MAX),
                };
                let chosen = self.reduced(program, &compared, reducer, |_, winner| {
                    let none = Scalar::Literal(Literal::integer(ElementType::I64, none));
                    (ElementType::I64, winner.select(Scalar::Index(number.clone(), ElementType::I64), none))
                });
                Some(self.masked(adjoint, Chosen::One(chosen, number), program))
            }
        }
    }

    /// The points of a product: each factor is multiplied by the product of all others.
    pub fn product(self, adjoint: TensorId, program: &mut ProgramBuilder) -> Summed {
        let others = self.products_of_others(program);
        let ty = program.ty(others).clone();
        let mut expr = self.expr.clone();
        let index = expr.axes.ids().map(Index::axis).collect();
        let factor = pushed_read(&mut expr, &ty, index);
        // The factor is held fixed: it does not belong to what is differentiated, for it stands for the others.
        expr.body = expr.body.clone().binary(BinaryOp::Multiply, factor);
        let operands = [self.operands, &[others]].concat();
        Summed { points: Points::of_body(&expr, Ties::default()), operands, adjoint }
    }

    /// What tells the extreme from others. Arithmetic is rounded when it is stored, so only stored values are compared.
    fn compared(self, program: &mut ProgramBuilder) -> Compared {
        if is_exact(&self.expr.body) {
            return Compared { values: None, extreme: self.output };
        }
        let values = program.compute(self.parallel(), self.operands);
        let mut expr = self.expr.clone();
        let index = expr.axes.ids().map(Index::axis).collect();
        expr.body = pushed_read(&mut expr, program.ty(values), index);
        let extreme = program.compute(with_used_reads(&expr), &[self.operands, &[values]].concat());
        Compared { values: Some(values), extreme }
    }

    /// A reduction of a function of whether an element is the extreme.
    fn reduced(
        self,
        program: &mut ProgramBuilder,
        compared: &Compared,
        reducer: Reducer,
        body: impl FnOnce(&TensorExpr, Scalar) -> (ElementType, Scalar),
    ) -> TensorId {
        let mut expr = self.expr.clone();
        let winner = compared.winner(&mut expr, program);
        let (element, body) = body(&expr, winner);
        let expr = TensorExpr { body, element, reducer: Some(reducer), ..expr };
        program.compute(with_used_reads(&expr), &[self.operands, &compared.operands()].concat())
    }

    /// The body where it is the extreme, or the one of them that was chosen.
    fn masked(self, adjoint: TensorId, chosen: Chosen<'_>, program: &ProgramBuilder) -> Summed {
        let mut expr = self.expr.clone();
        let mut operands = self.operands.to_vec();
        let wins = match chosen {
            Chosen::All(compared) => {
                operands.extend(compared.operands());
                compared.winner(&mut expr, program)
            }
            Chosen::One(chosen, number) => {
                operands.push(chosen);
                let index = expr.parallel().map(Index::axis).collect();
                let own = pushed_read(&mut expr, program.ty(chosen), index);
                own.binary(BinaryOp::Equal, Scalar::Index(number, ElementType::I64))
            }
        };
        let zero = Scalar::literal(expr.element, 0.0);
        expr.body = wins.select(expr.body, zero);
        Summed { points: Points::of_body(&expr, Ties::default()), operands, adjoint }
    }

    /// For every point, the product of the bodies at all other points of its reduction: that of all divided by its own, but
    /// for zeros.
    fn products_of_others(self, program: &mut ProgramBuilder) -> TensorId {
        let literal = |value: f64| Scalar::literal(self.expr.element, value);
        let equal = |left: &Scalar, value: f64| left.clone().binary(BinaryOp::Equal, literal(value));
        let own = &self.expr.body;
        let reduced = |reducer: Reducer, body: Scalar| TensorExpr { body, reducer: Some(reducer), ..self.expr.clone() };
        let rest = reduced(Reducer::Product, equal(own, 0.0).select(literal(1.0), own.clone()));
        let zeros = reduced(Reducer::Sum, equal(own, 0.0).select(literal(1.0), literal(0.0)));
        let [rest, zeros] = [rest, zeros].map(|expr| program.compute(expr, self.operands));
        let mut all = self.parallel();
        let index: Vec<Index> = self.expr.parallel().map(Index::axis).collect();
        let [product, count] = [rest, zeros].map(|tensor| pushed_read(&mut all, program.ty(tensor), index.clone()));
        let quotient = product.clone().binary(BinaryOp::Divide, own.clone());
        let is_only_zero = equal(own, 0.0).binary(BinaryOp::And, equal(&count, 1.0));
        all.body = equal(&count, 0.0).select(quotient, is_only_zero.select(product, literal(0.0)));
        program.compute(all, &[self.operands, &[rest, zeros]].concat())
    }

    /// The points, none of which are combined.
    fn parallel(self) -> TensorExpr {
        let axes = self.expr.axes.values().map(|axis| Axis { kind: AxisKind::Parallel, ..*axis }).collect();
        TensorExpr { reducer: None, axes, ..self.expr.clone() }
    }
}

/// Who gets the adjoint of an extreme.
enum Chosen<'c> {
    /// All that are equal to it.
    All(&'c Compared),
    /// The one whose number in the reduction a tensor holds.
    One(TensorId, Index),
}

/// The values of a reduction's points, and their extreme.
struct Compared {
    /// The values in a tensor of all axes; `None` where the body is compared itself.
    values: Option<TensorId>,
    /// The extreme, of the parallel axes.
    extreme: TensorId,
}

impl Compared {
    fn operands(&self) -> Vec<TensorId> {
        self.values.into_iter().chain([self.extreme]).collect()
    }

    /// Whether a point is the extreme. [`Self::operands`] become operands behind those that there are.
    fn winner(&self, expr: &mut TensorExpr, program: &ProgramBuilder) -> Scalar {
        let own = match self.values {
            Some(values) => {
                let index = expr.axes.ids().map(Index::axis).collect();
                pushed_read(expr, program.ty(values), index)
            }
            None => expr.body.clone(),
        };
        let index = expr.parallel().map(Index::axis).collect();
        let extreme = pushed_read(expr, program.ty(self.extreme), index);
        own.binary(BinaryOp::Equal, extreme)
    }
}

/// Whether a scalar is one of the values that it reads, or their negative or size: nothing is rounded.
fn is_exact(scalar: &Scalar) -> bool {
    let mut exact = true;
    scalar.visit(&mut |part| {
        exact &= match part {
            Scalar::Binary(op, ..) => matches!(
                op,
                BinaryOp::Maximum | BinaryOp::Minimum | BinaryOp::Less | BinaryOp::Equal | BinaryOp::And | BinaryOp::Or
            ),
            Scalar::Unary(op, _) => matches!(op, UnaryOp::Negate | UnaryOp::Absolute | UnaryOp::Not),
            Scalar::Cast(..) => false,
            Scalar::Literal(_)
            | Scalar::Read(_)
            | Scalar::Reduced
            | Scalar::Select(..)
            | Scalar::Index(..)
            | Scalar::Holds(_) => true,
        };
    });
    exact
}

fn pushed_read(expr: &mut TensorExpr, ty: &TensorType, index: Vec<Index>) -> Scalar {
    expr.operands.push(ty.clone());
    let fill = Literal::new(ty.element, 0.0);
    let read = Read { operand: expr.operands.len() - 1, index, guard: Guard::always(), fill };
    Scalar::Read(expr.reads.push(read))
}

/// The number of a point among those of its reduction, in order.
fn place_in_reduction(expr: &TensorExpr) -> Index {
    let extents: crate::types::Shape = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
    let axes: Vec<Index> = expr.reduced().map(Index::axis).collect();
    Index::linear(&axes, &extents.strides(), 0)
}
