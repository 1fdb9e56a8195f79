//! `If`: one of two graphs.

use warpweave_graph::arena::Id;
use warpweave_graph::index_check::IndexCheck;
use warpweave_graph::ops::Context;
use warpweave_graph::program::ProgramBuilder;
use warpweave_graph::{NodeId, Tensor};

use super::super::flatten::{FlatNode, SymbolId};
use super::super::walk::{Refusal, State, Walk};
use super::block::{Block, Decision, give, operator, truth};

const THEN: &str = "then_branch";
const ELSE: &str = "else_branch";

/// The branch that the condition chooses, if it is known; else both, and a choice between their outputs.
pub(super) fn fold<'m>(walk: &mut Walk<'m>, node: &FlatNode<'m>) -> Result<(), Refusal> {
    let [Some(condition)] = node.inputs[..] else { return Err("the condition is missing".to_owned().into()) };
    match truth(walk, condition)? {
        Decision::Unknown => Ok(()),
        Decision::Known(holds) => {
            let outputs = run(walk, node, if holds { THEN } else { ELSE }, None)?;
            let pairs = node.outputs.iter().zip(outputs);
            Ok(pairs.into_iter().try_for_each(|(&outer, inner)| give(walk, node, outer, inner))?)
        }
        Decision::Open => choose(walk, node, condition),
    }
}

/// The outputs of a branch; what it reads from outside is behind gates that are open where a condition is as is said.
fn run<'m>(
    walk: &mut Walk<'m>,
    node: &FlatNode<'m>,
    attribute: &str,
    taken: Option<(SymbolId, bool)>,
) -> Result<Vec<SymbolId>, Refusal> {
    let mut block = Block::new(walk, node, attribute)?;
    if let Some((condition, open)) = taken {
        block.gate(walk, condition, open);
    }
    let outputs = block.run(walk, &[], &format!("{}/{attribute}", node.name))?;
    if outputs.len() < node.outputs.len() {
        let reason = format!("{attribute} has {} outputs, and {} are needed", outputs.len(), node.outputs.len());
        return Err(reason.into());
    }
    Ok(outputs)
}

/// Both branches, and a choice of each output by the condition. In a training step nothing of the branch that is not taken
/// comes to gradients: its derivatives may be infinite where the other's are not.
fn choose<'m>(walk: &mut Walk<'m>, node: &FlatNode<'m>, condition: SymbolId) -> Result<(), Refusal> {
    let scalar = walk.constant(&node.name, Tensor::vector_i64(&[]));
    let flat = walk.flattening.symbol(&node.name, "condition");
    walk.apply(&node.name, operator("Reshape", &[])?, &[Some(condition), Some(scalar)], &[Some(flat)])?;
    let start = walk.graph.nodes.len();
    let taken = |open: bool| walk.trains.then_some((flat, open));
    let (if_open, if_shut) = (taken(true), taken(false));
    let (then, otherwise) = (run(walk, node, THEN, if_open)?, run(walk, node, ELSE, if_shut)?);
    if let Some(failing) = (start..walk.graph.nodes.len()).map(NodeId::from_index).find(|&id| may_fail(walk, id)) {
        let inner = &walk.graph.nodes[failing].name;
        let reason = format!(
            "the condition is not known at compile time, so both branches are computed, and node `{inner}` reads at \
             indices that it computes: they may lie outside in the branch that is not taken"
        );
        return Err(reason.into());
    }
    for ((&outer, then), otherwise) in node.outputs.iter().zip(then).zip(otherwise) {
        if [then, otherwise].iter().any(|&symbol| matches!(walk.state(symbol), State::Sequence(_))) {
            let reason = "the condition is not known at compile time, and the branches give sequences";
            return Err(reason.to_owned().into());
        }
        let (Some(chosen), Some(other)) = (walk.fact(then), walk.fact(otherwise)) else { continue };
        if chosen.ty != other.ty {
            let reason = format!(
                "the condition is not known at compile time, and the branches give {} and {}: a value has one type",
                chosen.ty, other.ty
            );
            return Err(reason.into());
        }
        if outer.is_some() {
            walk.apply(&node.name, operator("Where", &[])?, &[Some(flat), Some(then), Some(otherwise)], &[outer])?;
        }
    }
    Ok(())
}

/// Whether a node reads at indices that are not known at compile time.
pub(super) fn may_fail(walk: &Walk, id: NodeId) -> bool {
    let node = &walk.graph.nodes[id];
    let facts = walk.graph.facts(&node.inputs);
    let mut program = ProgramBuilder::new();
    let inputs: Option<Vec<_>> = facts
        .iter()
        .map(|fact| match fact {
            None => Some(None),
            Some(fact) => Some(Some(match &fact.value {
                Some(value) => program.constant(value.clone()),
                None => program.input(fact.ty.as_tensor()?.clone()),
            })),
        })
        .collect();
    let Some(inputs) = inputs else { return true };
    let outputs = node.op.lower(&Context::new(&facts, node.outputs.len()), &inputs, &mut program);
    let program = program.finish(outputs);
    IndexCheck::of(&program).iter().any(|check| program.constant(check.tensor).is_none())
}
