//! Sums of products with their longest even reduced axis innermost, and constants laid out in that order.
//!
//! The window of a convolution is odd, so that neighbours along it are no aligned vector; its channels are not. A constant
//! that one product reads, and nothing else, is stored as that product walks through it.

use super::rewriting::rebuild::Rebuild;
use crate::arena::Arena;
use crate::expr::{AxisId, BinaryOp, Index, Read, Reducer, Scalar, TensorExpr, substitute};
use crate::program::{Definition, Statement, TensorId, TensorProgram};
use crate::tensor::Tensor;

/// Elements that a wide load brings.
const WIDTH: usize = 4;
/// Results of a product below which threads share each result's reduction, side by side along windows as images lie.
/// Above it, a device is full of threads that walk through reductions of their own.
const FEWEST_RESULTS: usize = 32_768;

/// The program with its products in that order. Sums are taken in another order.
pub fn order_reductions(program: &TensorProgram) -> TensorProgram {
    let mut uses: Arena<TensorId, usize> = program.tensors.values().map(|_| 0).collect();
    program.statements.values().flat_map(|statement| &statement.operands).for_each(|&operand| uses[operand] += 1);
    program.live_out().for_each(|tensor| uses[tensor] += 1);
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values() {
        match turned(program, &uses, statement) {
            None => _ = builder.keep(statement),
            Some(Turned { expr, operand, value }) => {
                let mut operands: Vec<TensorId> =
                    statement.operands.iter().map(|&operand| builder.map(operand)).collect();
                operands[operand] = builder.constant(value);
                builder.define(statement, statement.origins.clone(), expr, &operands);
            }
        }
    }
    builder.finish(program).pruned()
}

/// A product in another order.
struct Turned {
    expr: TensorExpr,
    /// The operand that is stored again.
    operand: usize,
    value: Tensor,
}

fn turned(program: &TensorProgram, uses: &Arena<TensorId, usize>, statement: &Statement) -> Option<Turned> {
    let Definition::Compute(expr) = &statement.definition else { return None };
    let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return None };
    if expr.reducer != Some(Reducer::Sum) {
        return None;
    }
    let results: usize = expr.parallel().map(|axis| expr.axes[axis].extent).product();
    if results < FEWEST_RESULTS {
        return None;
    }
    let reduced: Vec<AxisId> = expr.reduced().collect();
    let even = |axis: &AxisId| expr.axes[*axis].extent.is_multiple_of(WIDTH);
    let longest = reduced.iter().copied().filter(even).max_by_key(|axis| expr.axes[*axis].extent)?;
    let last = *reduced.last()?;
    if even(&last) {
        return None;
    }
    [left, right].into_iter().find_map(|factor| {
        let Scalar::Read(read) = **factor else { return None };
        let read = &expr.reads[read];
        let tensor = statement.operands[read.operand];
        let value = program.packable(tensor).filter(|_| uses[tensor] == 1)?;
        let alone = expr.reads.values().filter(|other| other.operand == read.operand).count() == 1;
        let from = alone.then(|| dimension(expr, read, longest)).flatten()?;
        let (mut expr, value) = (substitute::with_axis_last(expr, longest), value.with_dimension_last(from));
        let operand = read.operand;
        expr.operands[operand] = value.ty().clone();
        let moved = expr.reads.ids().find(|id| expr.reads[*id].operand == operand)?;
        let index = expr.reads[moved].index.remove(from);
        expr.reads[moved].index.push(index);
        Some(Turned { expr, operand, value })
    })
}

/// The dimension in which a plain read of a whole tensor follows an axis.
fn dimension(expr: &TensorExpr, read: &Read, axis: AxisId) -> Option<usize> {
    let shape = &expr.operands[read.operand].shape;
    let whole =
        |(index, extent): (&Index, &usize)| index.as_axis().is_some_and(|axis| expr.axes[axis].extent == *extent);
    let plain = read.guard.is_always() && read.index.iter().zip(shape.iter()).all(whole);
    plain.then(|| read.index.iter().position(|index| index.as_axis() == Some(axis))).flatten()
}
