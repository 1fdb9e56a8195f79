//! Data movement composed into the reads of what moves.

use super::dead_statements::remove_dead;
use super::rewriting::rebuild::Rebuild;
use crate::expr::{BinaryOp, Reducer, Scalar, TensorExpr, merge_operands, substitute};
use crate::program::{Definition, Statement, TensorId, TensorProgram};

/// The program with every statement that only moves data composed into its readers. Such a statement remains where its
/// tensor is an output or part of a concat. It also remains where it moves what an index names and is read much more
/// often than it has elements.
///
/// A kernel of a sum of products reads each of its elements once a tile, whatever the products are.
pub fn inline_views(program: &TensorProgram) -> TensorProgram {
    inlined(program, |reader, movement| {
        movement.indirect_indices().is_empty()
            || sums_products(reader)
            || points(reader) <= points(movement).saturating_mul(MOST_READS)
    })
}

/// The same, but sums of products do not read at places that other tensors name: processors gather rows once, and then read
/// them as they lie.
pub fn inline_lines(program: &TensorProgram) -> TensorProgram {
    inlined(program, |reader, movement| {
        movement.indirect_indices().is_empty()
            || (!sums_products(reader) && points(reader) <= points(movement).saturating_mul(MOST_READS))
    })
}

/// Most reads of an element that an index names, each of which checks the index, where it is not gathered once instead.
const MOST_READS: usize = 16;

fn points(expr: &TensorExpr) -> usize {
    expr.axes.values().map(|axis| axis.extent).fold(1, usize::saturating_mul)
}

fn sums_products(expr: &TensorExpr) -> bool {
    expr.reducer == Some(Reducer::Sum) && matches!(expr.body, Scalar::Binary(BinaryOp::Multiply, ..))
}

/// The program with statements that only move data composed into those of their readers that `may_read` allows.
fn inlined(program: &TensorProgram, may_read: impl Fn(&TensorExpr, &TensorExpr) -> bool) -> TensorProgram {
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values() {
        let Some(expr) = statement.definition.expr() else {
            builder.keep(statement);
            continue;
        };
        let (mut expr, mut operands) = (expr.clone(), statement.operands.clone());
        let mut origins = statement.origins.clone();
        while let Some((position, composed, producer)) = composable(program, &expr, &operands, &may_read) {
            operands.remove(position);
            operands.extend(producer.operands.iter().copied());
            (expr, operands) = merge_operands(&composed, &operands);
            origins.extend(&producer.origins);
        }
        builder.redefine(statement, statement.definition.with_expr(expr), operands, origins);
    }
    remove_dead(&builder.finish(program))
}

/// The first operand of `expr` that a movement defines, and `expr` with the movement composed into it.
fn composable<'a>(
    program: &'a TensorProgram,
    expr: &TensorExpr,
    operands: &[TensorId],
    may_read: &impl Fn(&TensorExpr, &TensorExpr) -> bool,
) -> Option<(usize, TensorExpr, &'a Statement)> {
    operands.iter().enumerate().find_map(|(position, &operand)| {
        let producer = &program.statements[program.producer(operand)?];
        let Definition::Compute(movement) = &producer.definition else { return None };
        movement.as_movement().filter(|_| may_read(expr, movement))?;
        let composed = substitute::inline(expr, position, movement)?;
        Some((position, composed, producer))
    })
}
