//! Constant factors of integer products, read as the bytes that they are.
//!
//! Operators subtract a zero point from stored integers, and sum products of what that gives in 32 bits. A constant that is widened by a
//! statement of its own is written and read again in every run; it is widened where it is multiplied instead.

use std::collections::BTreeMap;

use super::rewriting::rebuild::Rebuild;
use super::rewriting::rewritten::Rewritten;
use crate::arena::Id;
use crate::expr::{BinaryOp, Index, Read, ReadId, Reducer, Scalar, TensorExpr};
use crate::program::{Statement, TensorId, TensorProgram};
use crate::types::ElementType;

/// The program in which constants of 8 bits are widened, and lose their zero points, in the sums of integer products of which they are a
/// factor; values are unchanged.
pub fn widen_in_products(program: &TensorProgram) -> TensorProgram {
    let statements = program.statements.values();
    let widened: BTreeMap<TensorId, Widened<'_>> =
        statements.filter_map(|statement| Some((statement.output, Widened::of(program, statement)?))).collect();
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
        let Read { operand, index, guard, .. } = &old.reads[read];
        let factor = widened.get(&statement.operands[*operand]).filter(|_| guard.is_always());
        let Some(factor) = factor.map(|factor| factor.at(index, &mut own, builder)) else { continue };
        body = body.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(found) if *found == read => factor.clone(),
            other => other.clone(),
        });
    }
    own.define(builder, body, old.epilogue.clone());
}

/// A statement that widens constant bytes, with their zero point if there is one.
struct Widened<'p> {
    statement: &'p Statement,
    expr: &'p TensorExpr,
}

impl<'p> Widened<'p> {
    fn of(program: &TensorProgram, statement: &'p Statement) -> Option<Self> {
        let expr = statement.definition.expr()?;
        if expr.reducer.is_some() || expr.epilogue.is_some() || expr.element != ElementType::I32 {
            return None;
        }
        let parts = match &expr.body {
            Scalar::Binary(BinaryOp::Subtract, stored, zero) => vec![&**stored, &**zero],
            stored => vec![stored],
        };
        let is_constant = |part: &&Scalar| {
            let Scalar::Cast(ElementType::I32, stored) = part else { return false };
            let Scalar::Read(read) = **stored else { return false };
            let Read { operand, index, guard, .. } = &expr.reads[read];
            let is_byte = matches!(expr.operands[*operand].element, ElementType::I8 | ElementType::U8);
            let plain = index.iter().all(|index| index.as_axis().is_some() || index.as_constant().is_some());
            is_byte && plain && guard.is_always() && program.foldable(statement.operands[*operand]).is_some()
        };
        parts.iter().all(is_constant).then_some(Self { statement, expr })
    }

    /// Its body at a place of its output, as a part of another statement.
    fn at(&self, place: &[Index], own: &mut Rewritten, builder: &Rebuild) -> Scalar {
        self.expr.body.map_leaves(&mut |leaf| {
            let Scalar::Read(read) = leaf else { return leaf.clone() };
            let Read { operand, index, guard, fill } = &self.expr.reads[*read];
            let moved =
                |index: &Index| index.as_axis().map_or_else(|| index.clone(), |axis| place[axis.index()].clone());
            let index = index.iter().map(moved).collect();
            let tensor = builder.map(self.statement.operands[*operand]);
            own.operands.push(tensor);
            own.expr.operands.push(builder.ty(tensor).clone());
            let operand = own.operands.len() - 1;
            Scalar::Read(own.expr.reads.push(Read { operand, index, guard: guard.clone(), fill: *fill }))
        })
    }
}

/// The reads that are factors of the product that is summed, of integers of 32 bits.
fn factors(expr: &TensorExpr) -> Vec<ReadId> {
    let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return Vec::new() };
    let read = |scalar: &Scalar| match scalar {
        Scalar::Read(read) if expr.operands[expr.reads[*read].operand].element == ElementType::I32 => Some(*read),
        _ => None,
    };
    [left, right].into_iter().filter_map(|factor| read(factor)).collect()
}
