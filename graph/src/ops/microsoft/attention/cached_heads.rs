//! Keys and values that earlier runs have left, and those of this one behind them.

use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Scalar};
use crate::ops::{compose, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ElementType;

/// The extents of a past and of what it becomes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cache {
    /// Places of the past, whether they count or not.
    pub(super) past: usize,
    /// Places of what it becomes.
    pub(super) extent: usize,
    pub(super) history: History,
}

/// How many places of the past count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum History {
    /// None: this is the first run.
    None,
    /// As many as an input says, each element of the batch its own.
    Counted,
}

impl Cache {
    /// Appends how many places of the past count, `[batch]`, from the last place of all, if any may. A run whose places do not
    /// fit into the extent fails.
    pub(super) fn counts(self, program: &mut ProgramBuilder, last: TensorId, places: usize) -> Option<TensorId> {
        if self.history == History::None {
            return None;
        }
        let ty = program.ty(last).clone();
        let batch = ty.shape.elements();
        let flat = movement::reshape(program, last, &[batch].into());
        let mut expr = ExprBuilder::new();
        let axis = expr.parallel(batch);
        let operand = expr.operand(program.ty(flat));
        let read = expr.read(operand, vec![Index::axis(axis)]);
        let last = Scalar::Index(expr.indirect(&read, self.extent), ElementType::I64);
        let before = Scalar::Literal(Literal::integer(ElementType::I64, 1 - places as i64));
        let none = Scalar::Literal(Literal::integer(ElementType::I64, 0));
        let count = last.binary(BinaryOp::Add, before).binary(BinaryOp::Maximum, none);
        Some(program.compute(expr.map(ElementType::I64, count), &[flat]))
    }

    /// Appends `[batch, heads, extent, width]`: of every element of the batch the places of the past that count, then those of
    /// `new`, then zeros.
    pub(super) fn extended(
        self,
        program: &mut ProgramBuilder,
        new: TensorId,
        past: Option<TensorId>,
        counts: Option<TensorId>,
    ) -> TensorId {
        let ty = program.ty(new).clone();
        let (places, zero) = (ty.shape[2], Literal::new(ty.element, 0.0));
        if counts.is_none() && places == self.extent {
            return new;
        }
        let mut expr = ExprBuilder::new();
        let Some(counts) = counts else {
            let axes = expr.parallels(&[ty.shape[0], ty.shape[1], self.extent, ty.shape[3]]);
            let operand = expr.operand(&ty);
            let body = expr.padded_read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect(), zero);
            return program.compute(expr.map(ty.element, body), &[new]);
        };
        // Which of the new places stands at a place, −1 before them, and one too large behind them.
        let axes = expr.parallels(&[ty.shape[0], self.extent]);
        let operand = expr.operand(program.ty(counts));
        let count = expr.read(operand, vec![Index::axis(axes[0])]);
        let number = |value: usize| Scalar::Literal(Literal::integer(ElementType::I64, value as i64));
        let place = Scalar::Index(Index::axis(axes[1]), ElementType::I64).binary(BinaryOp::Subtract, count);
        let body = place.binary(BinaryOp::Minimum, number(places));
        let own = program.compute(expr.map(ElementType::I64, body), &[counts]);
        let inside = compose::map(program, [own], ElementType::I64, |[x]| {
            x.binary(BinaryOp::Maximum, number(0)).binary(BinaryOp::Minimum, number(places - 1))
        });

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[ty.shape[0], ty.shape[1], self.extent, ty.shape[3]]);
        let index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let at = |expr: &mut ExprBuilder, tensor: TensorId| {
            let operand = expr.operand(program.ty(tensor));
            expr.read(operand, vec![index[0].clone(), index[2].clone()])
        };
        let (own_place, named) = (at(&mut expr, own), at(&mut expr, inside));
        let operand = expr.operand(&ty);
        let place = expr.indirect(&named, places);
        let fresh = expr.read(operand, vec![index[0].clone(), index[1].clone(), place, index[3].clone()]);
        let mut operands = vec![own, inside, new];
        let before = match past.filter(|_| self.past > 0) {
            None => Scalar::Literal(zero),
            Some(past) => {
                let operand = expr.operand(program.ty(past));
                operands.push(past);
                let guard = expr.guard(Guard::always(), index[2].clone(), 0, self.past as i64);
                expr.guarded_read(operand, index.clone(), guard, zero)
            }
        };
        let is_past = own_place.clone().binary(BinaryOp::Less, number(0));
        let is_fresh = own_place.binary(BinaryOp::Less, number(places));
        let body = is_past.select(before, is_fresh.select(fresh, Scalar::Literal(zero)));
        program.compute(expr.map(ty.element, body), &operands)
    }
}
