//! Nodes whose outputs are known at compile time.

use super::rewrite::{Patch, Replacement};
use crate::expr::TensorExpr;
use crate::ir::{Graph, Node};
use crate::ops::{Context, Fact, Op};
use crate::program::{ProgramBuilder, TensorId, TensorProgram};
use crate::reference;
use crate::tensor::Tensor;
use crate::types::ValueType;

/// The pass's name.
pub const NAME: &str = "constant_folding";

/// Largest output that is folded, in bytes.
const LARGEST_OUTPUT: usize = 1 << 20;
/// Longest vector of integers that is tried although an input is unknown: shapes depend on types alone.
const LONGEST_SHAPE: usize = 64;
/// Most scalar evaluations that folding a node may take.
const MOST_WORK: usize = 1 << 24;

/// Replaces nodes by their outputs, where [`evaluate_node`] finds them.
pub fn constant_folding(graph: &Graph) -> Vec<Patch> {
    let fold = |(id, node): (_, &Node)| {
        let types: Vec<ValueType> = node.outputs.iter().map(|&output| graph.values[output].ty.clone()).collect();
        let tensors = evaluate_node(&node.op, &graph.facts(&node.inputs), &types)?;
        Some(Patch { pass: NAME, node: id, replacement: Replacement::Constants(tensors) })
    };
    graph.nodes.iter().filter_map(fold).collect()
}

/// The outputs of a node, if they are known, small, and cheap to find. Either all inputs are constant, or the outputs
/// are short vectors of integers that do not depend on the inputs' elements.
pub fn evaluate_node(op: &Op, facts: &[Option<Fact>], outputs: &[ValueType]) -> Option<Vec<Tensor>> {
    let known = facts.iter().flatten().all(|fact| fact.value.is_some());
    let mut bytes = 0usize;
    for output in outputs {
        let ty = output.as_tensor()?;
        bytes = bytes.checked_add(ty.shape.checked_elements()?.checked_mul(ty.element.bytes())?)?;
        let shape_like = ty.element.is_integer() && ty.shape.len() <= 1 && ty.shape.elements() <= LONGEST_SHAPE;
        if !known && !shape_like {
            return None;
        }
    }
    // Products of dequantised bytes are computed in integers later, from the bytes.
    let are_factors = matches!(op, Op::DequantizeLinear(_)) && outputs.iter().any(|output| rank(output) > 1);
    if bytes > LARGEST_OUTPUT || are_factors {
        return None;
    }
    let mut program = ProgramBuilder::new();
    let mut inputs = Vec::with_capacity(facts.len());
    for fact in facts {
        inputs.push(match fact {
            None => None,
            Some(Fact { value: Some(value), .. }) => Some(program.constant(value.clone())),
            Some(Fact { ty, value: None }) => Some(program.input(ty.as_tensor()?.clone())),
        });
    }
    let results = op.lower(&Context::new(facts, outputs.len()), &inputs, &mut program);
    let program = program.finish(results.into_iter().take(outputs.len()).collect());
    evaluate_constants(&program)
}

fn rank(ty: &ValueType) -> usize {
    ty.as_tensor().map_or(0, |ty| ty.shape.len())
}

/// What an expression of a program is, if it reads constants alone, is small, and is cheap to find.
pub(crate) fn evaluate_expression(program: &TensorProgram, expr: &TensorExpr, operands: &[TensorId]) -> Option<Tensor> {
    let ty = expr.output();
    if ty.shape.checked_elements()?.checked_mul(ty.element.bytes())? > LARGEST_OUTPUT {
        return None;
    }
    let mut alone = ProgramBuilder::new();
    let constant = |&operand: &TensorId| Some(alone.constant(program.foldable(operand)?.clone()));
    let operands = operands.iter().map(constant).collect::<Option<Vec<_>>>()?;
    let output = alone.compute(expr.clone(), &operands);
    evaluate_constants(&alone.finish(vec![output]))?.pop()
}

/// The outputs of a program that depend on none of its inputs, if they are cheap to find.
fn evaluate_constants(program: &TensorProgram) -> Option<Vec<Tensor>> {
    let program = program.pruned();
    let mut work = 0usize;
    for statement in program.statements.values() {
        if let Some(expr) = statement.definition.expr() {
            let points = expr.axes.values().try_fold(1usize, |points, axis| points.checked_mul(axis.extent))?;
            work = work.checked_add(points)?;
        }
    }
    let mut read = program.statements.values().flat_map(|statement| &statement.operands).chain(&program.outputs);
    let depends = read.any(|&tensor| program.producer(tensor).is_none() && program.foldable(tensor).is_none());
    if depends || work > MOST_WORK {
        return None;
    }
    reference::evaluate(&TensorProgram { inputs: Vec::new(), ..program }, &[]).ok()
}
