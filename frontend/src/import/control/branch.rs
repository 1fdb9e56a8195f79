//! `If`: one of two graphs.

use warpweave_graph::arena::Id;
use warpweave_graph::{NodeId, Tensor};

use super::super::flatten::{FlatNode, SymbolId};
use super::super::reason::Reason;
use super::super::walk::{Refusal, Walk};
use super::block::{Block, Decision, give, truth};
use super::either::Choices;
use crate::obstacle::Obstacle;

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
    let holds = walk.result(&node.name, "Reshape", &[Some(condition), Some(scalar)])?;
    let fails = walk.result(&node.name, "Not", &[Some(holds)])?;
    let then = taken(walk, node, THEN, (holds, (holds, true)))?;
    let otherwise = taken(walk, node, ELSE, (fails, (holds, false)))?;
    let mut choices = Choices::new(holds);
    for ((&outer, then), otherwise) in node.outputs.iter().zip(then).zip(otherwise) {
        let Some(outer) = outer else { continue };
        let chosen = choices.choose(walk, &node.name, [then, otherwise], outer);
        chosen.map_err(|values| {
            let reason = format!("the branches give {values}: no tensor holds both");
            open_condition(walk, holds, &reason)
        })?;
    }
    Ok(())
}

/// The outputs of a branch that is computed whether it is taken or not: `runs` says whether it is. What it reads from outside is
/// behind a gate in a training step.
fn taken<'m>(
    walk: &mut Walk<'m>,
    node: &FlatNode<'m>,
    attribute: &str,
    (runs, gate): (SymbolId, (SymbolId, bool)),
) -> Result<Vec<SymbolId>, Refusal> {
    let (start, listed) = (walk.graph.nodes.len(), walk.unsupported.len());
    let gate = walk.trains.then_some(gate);
    let outputs = walk.guarded(&node.name, runs, |walk| run(walk, node, attribute, gate))?;
    let inner = walk.unsupported.drain(listed..).next();
    if let Some(inner) = inner {
        let reason = format!("{attribute} cannot be computed: {inner}");
        return Err(open_condition(walk, runs, &reason));
    }
    if let Some(failing) = (start..walk.graph.nodes.len()).map(NodeId::from_index).find(|&id| walk.may_fail(id)) {
        let inner = &walk.graph.nodes[failing].name;
        let reason = format!(
            "node `{inner}` of {attribute} reads at indices that it computes: they may lie outside where it is not taken"
        );
        return Err(open_condition(walk, runs, &reason));
    }
    Ok(outputs)
}

/// Why a node whose condition is open is refused, what decides the condition, and how to leave out the branch that `runs` says.
fn open_condition(walk: &mut Walk<'_>, runs: SymbolId, reason: &str) -> Refusal {
    let condition = walk.value(runs);
    let inputs = condition.map(|condition| walk.decisive_inputs(condition)).unwrap_or_default();
    let names: Vec<String> = inputs.iter().map(|&input| format!("`{}`", walk.graph.values[input].name)).collect();
    let decides = match &names[..] {
        [] => "data decide the condition".to_owned(),
        [input] => format!("the input {input} decides the condition"),
        inputs => format!("the inputs {} decide the condition", inputs.join(", ")),
    };
    let fixed = match inputs[..] {
        [input] => walk.short_input(input),
        _ => None,
    };
    let remedy = match (fixed, condition.and_then(|condition| walk.compared_with(condition))) {
        (Some(input), Some((number, false))) => {
            format!("; if the other one is meant, give --constant {input}={number}")
        }
        (Some(input), Some((number, true))) => {
            format!("; if the other one is meant, give --constant {input}=VALUE, not {number}")
        }
        (Some(input), None) => format!("; choose one with --constant {input}=VALUE"),
        (None, _) => String::new(),
    };
    let text = format!("{decides}, so both branches are computed, and {reason}{remedy}");
    Reason::new(Obstacle::Branch, text).into()
}
