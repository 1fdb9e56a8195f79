//! How much of a device a group of a program may count on.

use crate::cost::arch::DeviceShare;
use crate::partition::search::problem::{Memo, NodeSet, PartitionProblem};
use warpweave_graph::arena::Id;
use warpweave_graph::expr::Range;
use warpweave_graph::program::{Definition, Statement, TensorId, TensorProgram};

/// The share of the device that a group of a program has while others run beside it. The width of a program, the number of groups
/// that run at a time, is the total cost of its statements over that of its critical path.
pub(super) fn share_of_width<P: PartitionProblem>(program: &TensorProgram, memo: &mut Memo<'_, P>) -> DeviceShare {
    memo.prepare((0..program.statements.len()).map(|node| NodeSet::from([node])).collect());
    let mut costs = Vec::with_capacity(program.statements.len());
    for statement in program.statements.values() {
        // A concat is a place for its parts.
        let is_place = matches!(statement.definition, Definition::Concat { .. });
        costs.push(if is_place { 0.0 } else { memo.single(costs.len()) });
    }
    DeviceShare::of_width(width(program, &costs))
}

/// The total cost of all statements over that of the critical path; 1 if no statement costs anything.
fn width(program: &TensorProgram, costs: &[f64]) -> f64 {
    let mut ends: Vec<f64> = Vec::with_capacity(costs.len());
    for (statement, cost) in program.statements.values().zip(costs) {
        let mut start: f64 = 0.0;
        visit_producers(program, statement, &mut |node| start = start.max(ends[node]));
        ends.push(start + cost);
    }
    let longest = ends.iter().copied().fold(0.0, f64::max);
    if longest > 0.0 { costs.iter().sum::<f64>() / longest } else { 1.0 }
}

/// The statements that write what a statement reads: of a concat, the parts that it reads.
fn visit_producers(program: &TensorProgram, statement: &Statement, visit: &mut impl FnMut(usize)) {
    for (position, &operand) in statement.operands.iter().enumerate() {
        let Some(producer) = program.producer(operand) else { continue };
        match (&program.statements[producer].definition, statement.definition.expr()) {
            (Definition::Concat { axis }, Some(expr)) => {
                let reads = expr.reads.values().filter(|read| read.operand == position);
                for range in reads.map(|read| {
                    let index = &read.index[*axis];
                    index.is_free_of_reads().then(|| index.range(&|axis| expr.range(axis)))
                }) {
                    visit_parts(program, &program.statements[producer], *axis, range, visit);
                }
            }
            (Definition::Compute(_) | Definition::Opaque(_) | Definition::Concat { .. }, _) => visit(producer.index()),
        }
    }
}

/// The statements that write the parts of a concat within a range along its axis; all of no range.
fn visit_parts(
    program: &TensorProgram,
    concat: &Statement,
    axis: usize,
    range: Option<Range>,
    visit: &mut impl FnMut(usize),
) {
    let mut first = 0;
    for part in &concat.operands {
        let extent = extent(program, *part, axis);
        let is_read = range.is_none_or(|range| range.minimum < first + extent && range.maximum >= first);
        first += extent;
        if let Some(producer) = program.producer(*part).filter(|_| is_read) {
            visit(producer.index());
        }
    }
}

fn extent(program: &TensorProgram, tensor: TensorId, axis: usize) -> i64 {
    program.tensors[tensor].ty.shape[axis] as i64
}
