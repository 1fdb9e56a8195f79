//! Integer sums over windows, taken in singles.
//!
//! Processors reduce windows of singles many at a time. A single holds every integer up to 2²⁴ exactly, so that sums of few products of
//! bytes are the same in singles, in whatever order.

use std::collections::BTreeMap;

use super::widened_factors::{Widened, factors};
use crate::arena::Id;
use crate::arithmetic::{highest, lowest};
use crate::expr::{AxisKind, Index, Literal, Read, ReadId, Reducer, Scalar, TensorExpr};
use crate::program::passes::rewriting::rebuild::Rebuild;
use crate::program::passes::rewriting::rewritten::Rewritten;
use crate::program::{Statement, TensorId, TensorProgram};
use crate::types::ElementType;

/// The magnitude up to which singles hold all integers.
const MOST_EXACT: i64 = 1 << 24;

/// The program with sums of products of bytes over windows of a depthwise convolution in singles, where these hold every sum; values are
/// unchanged.
pub fn sum_windows_in_singles(program: &TensorProgram) -> TensorProgram {
    let widened = Widened::all(program);
    let (mut builder, mut singles) = (Rebuild::new(program), BTreeMap::new());
    for statement in program.statements.values() {
        let expr = statement.definition.expr();
        let found = expr.and_then(|expr| Some((expr, WindowSum::of(&widened, statement, expr)?)));
        match found {
            Some((expr, sum)) => sum.rewrite(&mut singles, &mut builder, statement, expr),
            None => _ = builder.keep(statement),
        }
    }
    builder.finish(program).pruned()
}

/// A sum of products of bytes that move with windows and of weights that do not.
struct WindowSum<'w> {
    moved: (ReadId, &'w Widened<'w>),
    weight: (ReadId, &'w Widened<'w>),
}

impl<'w> WindowSum<'w> {
    fn of(widened: &'w BTreeMap<TensorId, Widened<'w>>, statement: &Statement, expr: &TensorExpr) -> Option<Self> {
        let is_sum = expr.reducer == Some(Reducer::Sum) && expr.indirect_indices().is_empty();
        let [left, right] = factors(expr)[..] else { return None };
        let of = |read: ReadId| Some((read, widened.get(&statement.operands[expr.reads[read].operand])?));
        let [left, right] = [of(left).filter(|_| is_sum)?, of(right)?];
        let length: i64 = expr.reduced().map(|axis| expr.axes[axis].extent as i64).product();
        let largest = magnitude(left.1).checked_mul(magnitude(right.1))?.checked_mul(length)?;
        let (moved, weight) = if has_window(expr, left.0) { (left, right) } else { (right, left) };
        let [of_moved, of_weight] = [moved, weight].map(|(read, _)| &expr.reads[read]);
        let is_zero_elsewhere = of_moved.guard.is_always() || of_moved.fill.to_i64() == 0;
        let holds = largest <= MOST_EXACT && has_window(expr, moved.0) && !has_window(expr, weight.0);
        let is_depthwise = parallel(expr, of_weight).iter().all(|axis| parallel(expr, of_moved).contains(axis));
        (holds && is_depthwise && is_zero_elsewhere && of_weight.guard.is_always()).then_some(Self { moved, weight })
    }

    fn rewrite(
        &self,
        singles: &mut BTreeMap<TensorId, TensorId>,
        builder: &mut Rebuild,
        statement: &Statement,
        old: &TensorExpr,
    ) {
        let Self { moved: (moved, bytes), weight: (weight, weights) } = self;
        let output = weights.statement.output;
        let tensor = *singles.entry(output).or_insert_with(|| in_singles(weights, builder));
        let mut own = Rewritten::new(builder, statement, old);
        let of_moved = &old.reads[*moved];
        let value = Scalar::Cast(ElementType::F32, bytes.at(of_moved, &mut own, builder).into());
        let zero = Literal::new(ElementType::F32, 0.0);
        let value = match of_moved.guard.is_always() {
            true => value,
            false => {
                let holds = Scalar::Holds(of_moved.guard.clone());
                Scalar::Select(holds.into(), value.into(), Scalar::Literal(zero).into())
            }
        };
        own.operands.push(tensor);
        own.expr.operands.push(builder.ty(tensor).clone());
        let operand = own.operands.len() - 1;
        let read = Read { operand, fill: zero, ..old.reads[*weight].clone() };
        let factor = Scalar::Read(own.expr.reads.push(read));
        let body = old.body.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) if read == moved => value.clone(),
            Scalar::Read(read) if read == weight => factor.clone(),
            other => other.clone(),
        });
        let sum = Scalar::Cast(ElementType::I32, Scalar::Reduced.into());
        let epilogue = old.epilogue.clone().unwrap_or(Scalar::Reduced).map_leaves(&mut |leaf| match leaf {
            Scalar::Reduced => sum.clone(),
            other => other.clone(),
        });
        own.define(builder, body, Some(epilogue));
    }
}

/// What a statement widens, as singles.
fn in_singles(widened: &Widened<'_>, builder: &mut Rebuild) -> TensorId {
    let Widened { statement, expr } = widened;
    let body = Scalar::Cast(ElementType::F32, expr.body.clone().into());
    let expr = TensorExpr { body, element: ElementType::F32, ..(*expr).clone() };
    let operands: Vec<TensorId> = statement.operands.iter().map(|&operand| builder.map(operand)).collect();
    builder.compute(statement.origins.clone(), expr, &operands)
}

/// The largest magnitude of bytes less their zero point.
fn magnitude(widened: &Widened<'_>) -> i64 {
    let stored = |read: &Read| widened.expr.operands[read.operand].element;
    let largest = |element: ElementType| highest(element).max(-lowest(element));
    let mut elements = widened.expr.reads.values().map(stored);
    match (elements.next(), elements.next()) {
        (Some(element), None) => largest(element),
        (Some(element), Some(zero)) if element == zero => highest(element) - lowest(element),
        (Some(element), Some(zero)) => largest(element) + largest(zero),
        (None, _) => 0,
    }
}

/// The parallel axes of several values along which a read moves.
fn parallel(expr: &TensorExpr, read: &Read) -> Vec<usize> {
    let mut found = Vec::new();
    read.index.iter().for_each(|index| found.extend(axes(expr, index, AxisKind::Parallel)));
    found
}

/// Whether a parallel and a reduced axis move a read along the same dimension.
fn has_window(expr: &TensorExpr, read: ReadId) -> bool {
    let moves = |index: &Index, kind: AxisKind| !axes(expr, index, kind).is_empty();
    expr.reads[read].index.iter().any(|index| moves(index, AxisKind::Parallel) && moves(index, AxisKind::Reduced))
}

/// The axes of a kind and of several values that an index has.
fn axes(expr: &TensorExpr, index: &Index, kind: AxisKind) -> Vec<usize> {
    let mut found = Vec::new();
    index.visit(
        &mut |axis| {
            if expr.axes[axis].kind == kind && expr.axes[axis].extent > 1 {
                found.push(axis.index());
            }
        },
        &mut |_| {},
    );
    found
}
