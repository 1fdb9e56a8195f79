//! Sums of products of like parts as one product over what the parts are joined in.
//!
//! The gradient of a weight that every step of a sequence reads is a sum over the steps. Where what the steps multiply stands side by
//! side in joined tensors, as states and the gradients of gates do, the steps become one more reduced axis.

use std::collections::HashMap;

use crate::arena::Id;
use crate::expr::substitute::replace_axes;
use crate::expr::{Axis, AxisId, AxisKind, Index, Reducer, TensorExpr};
use crate::program::{Definition, ProgramBuilder, StatementId, TensorId};

/// Where tensors stand one behind the other in a joined one.
struct Run {
    joined: TensorId,
    dimension: usize,
    /// Places of each.
    extent: usize,
    /// The number of the first.
    first: usize,
}

/// The terms of a sum, those that are sums of the same form over joined operands replaced by one.
pub(super) fn stacked(program: &mut ProgramBuilder, terms: Vec<TensorId>) -> Vec<TensorId> {
    let mut forms: Vec<(TensorExpr, Vec<TensorId>)> = Vec::new();
    let mut known: HashMap<TensorExpr, usize> = HashMap::new();
    let mut others = Vec::new();
    for &term in &terms {
        let statement = program.program().producer(term).map(|id| &program.program().statements[id]);
        match statement.and_then(|statement| statement.definition.expr()) {
            Some(expr) if expr.reducer == Some(Reducer::Sum) && expr.epilogue.is_none() => {
                let at = *known.entry(expr.clone()).or_insert_with(|| {
                    forms.push((expr.clone(), Vec::new()));
                    forms.len() - 1
                });
                forms[at].1.push(term);
            }
            _ => others.push(term),
        }
    }
    if forms.iter().all(|(_, terms)| terms.len() == 1) {
        return terms;
    }
    for (expr, alike) in forms {
        match joined(program, &expr, &alike) {
            Some(sum) => others.push(sum),
            None => others.extend(alike),
        }
    }
    others
}

/// Appends the sum of terms that are `expr` over other operands each, if those stand one behind the other in joined tensors.
fn joined(program: &mut ProgramBuilder, expr: &TensorExpr, terms: &[TensorId]) -> Option<TensorId> {
    if terms.len() < 2 {
        return None;
    }
    let mut operands: Vec<Vec<TensorId>> = terms.iter().map(|&term| operands(program, term)).collect();
    let differs = |at: &usize| operands.iter().any(|own| own[*at] != operands[0][*at]);
    let varying: Vec<usize> = (0..expr.operands.len()).filter(differs).collect();
    let &lead = varying.first()?;
    let order = |tensor: TensorId| homes(program, tensor).first().map(|(_, at)| *at);
    if order(operands[0][lead])? > order(operands[1][lead])? {
        operands.reverse();
    }
    let mut runs = Vec::with_capacity(varying.len());
    for &at in &varying {
        let tensors: Vec<TensorId> = operands.iter().map(|own| own[at]).collect();
        runs.push((at, run(program, &tensors)?));
    }
    let (mut stacked, step) = with_steps(expr, terms.len());
    let mut all = operands.swap_remove(0);
    for (at, run) in &runs {
        all[*at] = run.joined;
        stacked.operands[*at] = program.ty(run.joined).clone();
        move_reads(&mut stacked, *at, run, step);
    }
    Some(program.compute(stacked, &all))
}

/// The expression with one more reduced axis, in front of the others: what is made last, or first, is at one end of the sum.
fn with_steps(expr: &TensorExpr, steps: usize) -> (TensorExpr, AxisId) {
    let order: Vec<AxisId> = expr.parallel().chain(expr.reduced()).collect();
    let step = expr.parallel().count();
    let mut axes: Vec<Axis> = order.iter().map(|axis| expr.axes[*axis]).collect();
    axes.insert(step, Axis { extent: steps, kind: AxisKind::Reduced });
    let place = |axis: AxisId| order.iter().position(|other| *other == axis).map(|at| at + usize::from(at >= step));
    let moved = expr.axes.ids().filter_map(place).map(|at| Index::axis(AxisId::from_index(at)));
    (replace_axes(expr, &axes.into_iter().collect(), &moved.collect::<Vec<_>>()), AxisId::from_index(step))
}

/// Lets the reads of an operand read the part of a joined tensor that a step is of.
fn move_reads(expr: &mut TensorExpr, operand: usize, run: &Run, step: AxisId) {
    let place = Index::axis(step).plus(run.first as i64).times(run.extent as i64);
    for read in expr.reads.values_mut().filter(|read| read.operand == operand) {
        read.index[run.dimension] = read.index[run.dimension].add(&place);
    }
}

fn operands(program: &ProgramBuilder, tensor: TensorId) -> Vec<TensorId> {
    let program = program.program();
    program.producer(tensor).map_or_else(Vec::new, |id| program.statements[id].operands.clone())
}

/// The joined tensors that a tensor is part of, and its number among their parts.
fn homes(program: &ProgramBuilder, tensor: TensorId) -> Vec<(StatementId, usize)> {
    let statements = program.program().statements.iter();
    let concats = statements.filter(|(_, statement)| matches!(statement.definition, Definition::Concat { .. }));
    let places = concats.filter_map(|(id, statement)| {
        statement.operands.iter().position(|&operand| operand == tensor).map(|at| (id, at))
    });
    places.collect()
}

/// Where tensors stand one behind the other, in this order and as parts of one extent.
fn run(program: &ProgramBuilder, tensors: &[TensorId]) -> Option<Run> {
    let extents_of = |tensor: &TensorId| program.ty(*tensor).shape.clone();
    homes(program, tensors[0]).into_iter().find_map(|(id, first)| {
        let statement = &program.program().statements[id];
        let Definition::Concat { axis } = statement.definition else { return None };
        let extent = extents_of(&statement.operands[0])[axis];
        let alike = statement.operands.iter().all(|operand| extents_of(operand)[axis] == extent);
        let behind = statement.operands.get(first..first + tensors.len())? == tensors;
        (alike && behind).then_some(Run { joined: statement.output, dimension: axis, extent, first })
    })
}
