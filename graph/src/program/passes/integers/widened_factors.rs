//! Factors of integer products, read as the bytes that they are.
//!
//! Operators subtract a zero point from stored integers, and sum products of what that gives in 32 bits. Bytes that are widened by a
//! statement of their own are written and read again as four times as many; they are widened where they are multiplied instead.

use std::collections::BTreeMap;

use crate::arena::Id;
use crate::expr::{BinaryOp, Index, Literal, Read, ReadId, Reducer, Scalar, TensorExpr};
use crate::program::passes::rewriting::rebuild::Rebuild;
use crate::program::passes::rewriting::rewritten::Rewritten;
use crate::program::{Statement, TensorId, TensorProgram};
use crate::types::ElementType;

/// The program in which integers of 8 bits are widened, and lose their zero points, in the sums of integer products of which they are a
/// factor; values are unchanged.
pub fn widen_in_products(program: &TensorProgram) -> TensorProgram {
    let widened = Widened::all(program);
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values() {
        let sum = statement.definition.expr().filter(|expr| expr.reducer == Some(Reducer::Sum));
        match sum.filter(|expr| expr.indirect_indices().is_empty()) {
            Some(expr) => rewrite(&widened, &mut builder, statement, expr),
            None => _ = builder.keep(statement),
        }
    }
    builder.finish(program).pruned()
}

/// The sum with its widened factors in it.
fn rewrite(widened: &BTreeMap<TensorId, Widened<'_>>, builder: &mut Rebuild, statement: &Statement, old: &TensorExpr) {
    let mut own = Rewritten::new(builder, statement, old);
    let mut body = old.body.clone();
    for read in factors(old) {
        let of = &old.reads[read];
        // Elsewhere both parts are 0, and so is their difference.
        let is_zero_elsewhere = of.guard.is_always() || of.fill.to_i64() == 0;
        let factor = widened.get(&statement.operands[of.operand]).filter(|_| is_zero_elsewhere);
        let Some(factor) = factor.map(|factor| factor.at(of, &mut own, builder)) else { continue };
        body = body.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(found) if *found == read => factor.clone(),
            other => other.clone(),
        });
    }
    own.define(builder, body, old.epilogue.clone());
}

/// A statement that widens bytes, with their zero point if there is one.
pub(super) struct Widened<'p> {
    pub(super) statement: &'p Statement,
    pub(super) expr: &'p TensorExpr,
}

impl<'p> Widened<'p> {
    /// Those of a program, by the tensors that they define.
    pub(super) fn all(program: &'p TensorProgram) -> BTreeMap<TensorId, Self> {
        let statements = program.statements.values();
        statements.filter_map(|statement| Some((statement.output, Self::of(statement)?))).collect()
    }

    fn of(statement: &'p Statement) -> Option<Self> {
        let expr = statement.definition.expr()?;
        if expr.reducer.is_some() || expr.epilogue.is_some() || expr.element != ElementType::I32 {
            return None;
        }
        let parts = match &expr.body {
            Scalar::Binary(BinaryOp::Subtract, stored, zero) => vec![&**stored, &**zero],
            stored => vec![stored],
        };
        let is_widened = |part: &&Scalar| {
            let Scalar::Cast(ElementType::I32, stored) = part else { return false };
            let Scalar::Read(read) = **stored else { return false };
            let Read { operand, index, guard, .. } = &expr.reads[read];
            let is_byte = matches!(expr.operands[*operand].element, ElementType::I8 | ElementType::U8);
            let plain = index.iter().all(|index| index.as_axis().is_some() || index.as_constant().is_some());
            is_byte && plain && guard.is_always()
        };
        parts.iter().all(is_widened).then_some(Self { statement, expr })
    }

    /// Its body where its output is read, as a part of another statement.
    pub(super) fn at(&self, place: &Read, own: &mut Rewritten, builder: &Rebuild) -> Scalar {
        self.expr.body.map_leaves(&mut |leaf| {
            let Scalar::Read(read) = leaf else { return leaf.clone() };
            let Read { operand, index, .. } = &self.expr.reads[*read];
            let moved =
                |index: &Index| index.as_axis().map_or_else(|| index.clone(), |axis| place.index[axis.index()].clone());
            let index = index.iter().map(moved).collect();
            let tensor = builder.map(self.statement.operands[*operand]);
            own.operands.push(tensor);
            own.expr.operands.push(builder.ty(tensor).clone());
            let (operand, fill) = (own.operands.len() - 1, Literal::new(self.expr.operands[*operand].element, 0.0));
            Scalar::Read(own.expr.reads.push(Read { operand, index, guard: place.guard.clone(), fill }))
        })
    }
}

/// The reads that are factors of the product that is summed, of integers of 32 bits.
pub(super) fn factors(expr: &TensorExpr) -> Vec<ReadId> {
    let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return Vec::new() };
    let read = |scalar: &Scalar| match scalar {
        Scalar::Read(read) if expr.operands[expr.reads[*read].operand].element == ElementType::I32 => Some(*read),
        _ => None,
    };
    [left, right].into_iter().filter_map(|factor| read(factor)).collect()
}
