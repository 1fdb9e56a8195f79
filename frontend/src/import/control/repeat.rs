//! `Loop`: a graph applied again and again, unrolled.
//!
//! Where data decide when it ends, all iterations are computed that there may be. Those behind its end change nothing that it
//! carries, and what they give does not count.

use warpweave_graph::arena::Id;
use warpweave_graph::{NodeId, Shape, Tensor};

use super::super::counts::Count;
use super::super::error::ImportError;
use super::super::flatten::{FlatNode, SymbolId};
use super::super::reason::Reason;
use super::super::walk::{Refusal, State, Walk};
use super::block::{Block, Decision, count, give, operator, truth};
use super::either::Choices;
use super::stack::{self, Order};
use crate::obstacle::Obstacle;

/// What a loop goes through from one iteration to the next.
struct Iterations {
    /// How many there are at most.
    trips: Option<i64>,
    /// Whether there is another one, if the loop asks.
    condition: Option<SymbolId>,
    carried: Vec<SymbolId>,
    /// For each output that is collected, its values so far.
    collected: Vec<Vec<SymbolId>>,
    /// Whether each iteration runs, of those of which data decide.
    runs: Vec<SymbolId>,
}

/// The iterations one after another, as many as are known to run.
pub(super) fn fold<'m>(walk: &mut Walk<'m>, node: &FlatNode<'m>) -> Result<(), Refusal> {
    let block = Block::new(walk, node, "body")?;
    let input = |at: usize| node.inputs.get(at).copied().flatten();
    let carried: Option<Vec<SymbolId>> = node.inputs.iter().skip(2).copied().collect();
    let carried = carried.ok_or_else(|| "an initial value is missing".to_owned())?;
    let collected = block.graph.output.len().checked_sub(carried.len() + 1);
    let collected = collected.ok_or_else(|| "the body has fewer outputs than the loop carries values".to_owned())?;
    if node.outputs.len() > carried.len() + collected {
        return Err("the loop has more outputs than its body gives".to_owned().into());
    }
    let trips = match input(0) {
        None => None,
        Some(symbol) => match count(walk, symbol)? {
            Decision::Known(trips) => Some(trips),
            Decision::Unknown => return Ok(()),
            Decision::Open => return Err(open_trips(walk, symbol).into()),
        },
    };
    let collected = vec![Vec::new(); collected];
    let mut iterations = Iterations { trips, condition: input(1), carried, collected, runs: Vec::new() };
    let listed = walk.unsupported.len();
    for at in 0.. {
        match iterations.another(walk, node, at)? {
            Some(true) => iterations.run(walk, node, &block, at)?,
            Some(false) => break,
            None => return Ok(()),
        }
        // Later iterations would say the same.
        if walk.unsupported.len() > listed {
            return Ok(());
        }
    }
    let number = iterations.number(walk, node)?;
    let Iterations { carried, collected, .. } = iterations;
    let (finals, stacks) = node.outputs.split_at(carried.len().min(node.outputs.len()));
    for (&outer, inner) in finals.iter().zip(&carried) {
        give(walk, node, outer, *inner)?;
    }
    let declared = block.graph.output.iter().skip(carried.len() + 1);
    for ((outer, parts), declared) in stacks.iter().zip(&collected).zip(declared) {
        let Some(outer) = *outer else { continue };
        match parts.is_empty() {
            true => walk.define(outer, State::Constant(stack::none(declared, 0)?)),
            false => stack::stack(walk, &node.name, parts, Order { axis: 0, reversed: false }, outer)?,
        }
        if let Some(number) = number {
            first_of(walk, outer, number)?;
        }
    }
    Ok(())
}

/// Says that as many of what is collected count as a number says.
fn first_of(walk: &mut Walk, collected: SymbolId, number: SymbolId) -> Result<(), Refusal> {
    let (Some(value), Some(count)) = (walk.value(collected), walk.value(number)) else { return Ok(()) };
    match walk.counts.of.insert(value, Count { dimension: 0, count }) {
        None => Ok(()),
        Some(_) => Err("what it collects has as many elements as data say along two dimensions".to_owned().into()),
    }
}

impl Iterations {
    /// Whether there may be an iteration of this number; `None` if what says so is refused itself.
    fn another(&mut self, walk: &Walk, node: &FlatNode, at: i64) -> Result<Option<bool>, Refusal> {
        if self.trips.is_some_and(|trips| at >= trips) {
            return Ok(Some(false));
        }
        match self.condition.map(|symbol| truth(walk, symbol)).transpose()? {
            Some(Decision::Known(false)) => return Ok(Some(false)),
            None | Some(Decision::Known(true)) => {}
            Some(Decision::Unknown) => return Ok(None),
            Some(Decision::Open) if self.trips.is_some() && !walk.trains => self.runs.extend(self.condition),
            Some(Decision::Open) => {
                let reason = match walk.trains {
                    true => "data decide how often it runs, which a training step does not support",
                    false => "data decide how often it runs, and nothing bounds it",
                };
                return Err(Reason::new(Obstacle::Unbounded, reason).into());
            }
        }
        if at as u64 >= walk.limits.trips {
            let (culprit, limit) = (node.name.clone(), walk.limits.trips);
            return Err(ImportError::Limit { culprit, what: "number of iterations", limit }.into());
        }
        Ok(Some(true))
    }

    fn run<'m>(&mut self, walk: &mut Walk<'m>, node: &FlatNode<'m>, block: &Block<'m>, at: i64) -> Result<(), Refusal> {
        let prefix = format!("{}/{at}", node.name);
        let number = walk.constant(&prefix, Tensor::scalar(at));
        let condition = match self.condition {
            Some(condition) => condition,
            None => walk.constant(&prefix, Tensor::from_bools(Shape::scalar(), &[true])),
        };
        let inputs: Vec<SymbolId> = [number, condition].into_iter().chain(self.carried.iter().copied()).collect();
        let outputs = match self.runs.last().copied() {
            Some(runs) => perhaps(walk, runs, block, (&inputs, &prefix))?,
            None => block.run(walk, &inputs, &prefix)?,
        };
        let (condition, rest) = outputs.split_first().ok_or_else(|| "the body has no outputs".to_owned())?;
        if self.condition.is_some() {
            self.condition = Some(*condition);
        }
        let (carried, parts) = rest.split_at(self.carried.len());
        let carried = match self.runs.last().copied() {
            Some(runs) => self.kept(walk, node, runs, carried)?,
            None => carried.to_vec(),
        };
        self.carried = carried;
        self.collected.iter_mut().zip(parts).for_each(|(collected, &part)| collected.push(part));
        Ok(())
    }

    /// What is carried on from an iteration: what it gives if it runs, else what it was given. The next one runs only if it does.
    fn kept(
        &mut self,
        walk: &mut Walk,
        node: &FlatNode,
        runs: SymbolId,
        given: &[SymbolId],
    ) -> Result<Vec<SymbolId>, Refusal> {
        let scalar = walk.constant(&node.name, Tensor::vector_i64(&[]));
        let runs = applied(walk, node, "Reshape", &[runs, scalar])?;
        let mut choices = Choices::new(runs);
        let mut kept = Vec::with_capacity(given.len());
        for (&new, &old) in given.iter().zip(&self.carried) {
            let chosen = walk.flattening.symbol("", &node.name);
            let refused =
                |values| format!("data decide how often it runs, and it carries {values}: no tensor holds both");
            choices.choose(walk, &node.name, [new, old], chosen).map_err(refused)?;
            kept.push(chosen);
        }
        if let Some(next) = self.condition {
            let next = applied(walk, node, "Reshape", &[next, scalar])?;
            self.condition = Some(applied(walk, node, "And", &[runs, next])?);
        }
        Ok(kept)
    }

    /// How many iterations run, if data decide.
    fn number(&self, walk: &mut Walk, node: &FlatNode) -> Result<Option<SymbolId>, Refusal> {
        if self.runs.is_empty() {
            return Ok(None);
        }
        let all = self.collected.first().map_or(0, Vec::len);
        let mut number = walk.constant(&node.name, Tensor::scalar(all.saturating_sub(self.runs.len()) as i64));
        let scalar = walk.constant(&node.name, Tensor::vector_i64(&[]));
        for &runs in &self.runs {
            let runs = applied(walk, node, "Reshape", &[runs, scalar])?;
            let runs = applied(walk, node, "CastLike", &[runs, number])?;
            number = applied(walk, node, "Add", &[number, runs])?;
        }
        Ok(Some(number))
    }
}

/// The outputs of an iteration that is computed whether it runs or not; an error if it might fail where it does not.
fn perhaps<'m>(
    walk: &mut Walk<'m>,
    runs: SymbolId,
    block: &Block<'m>,
    (inputs, prefix): (&[SymbolId], &str),
) -> Result<Vec<SymbolId>, Refusal> {
    let start = walk.graph.nodes.len();
    let scalar = walk.constant(prefix, Tensor::vector_i64(&[]));
    let runs = walk.result(prefix, "Reshape", &[Some(runs), Some(scalar)])?;
    let outputs = walk.guarded(prefix, runs, |walk| block.run(walk, inputs, prefix))?;
    if let Some(failing) = (start..walk.graph.nodes.len()).map(NodeId::from_index).find(|&id| walk.may_fail(id)) {
        let inner = &walk.graph.nodes[failing].name;
        let reason = format!(
            "data decide how often it runs, so all iterations are computed, and node `{inner}` reads at indices that it \
             computes: they may lie outside in an iteration that does not run"
        );
        return Err(reason.into());
    }
    Ok(outputs)
}

/// Why the number of iterations must be known, and which input it comes from.
fn open_trips(walk: &mut Walk<'_>, trips: SymbolId) -> Reason {
    let inputs = walk.value(trips).map(|trips| walk.decisive_inputs(trips)).unwrap_or_default();
    let fixed = match inputs[..] {
        [input] => walk.short_input(input),
        _ => None,
    };
    match fixed {
        Some(input) => {
            let text = format!("the input `{input}` decides its trip count: give --constant {input}=VALUE");
            Reason::new(Obstacle::NotConstant, text)
        }
        None => Reason::new(Obstacle::Unbounded, "data decide its trip count, and nothing bounds it"),
    }
}

/// What an operator without attributes gives.
fn applied(walk: &mut Walk, node: &FlatNode, name: &str, inputs: &[SymbolId]) -> Result<SymbolId, Refusal> {
    let output = walk.flattening.symbol("", &node.name);
    let inputs: Vec<Option<SymbolId>> = inputs.iter().copied().map(Some).collect();
    walk.apply(&node.name, operator(name, &[])?, &inputs, &[Some(output)])?;
    Ok(output)
}
