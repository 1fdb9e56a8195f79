//! `Loop`: a graph applied again and again, unrolled.

use warpweave_graph::{Shape, Tensor};

use super::super::error::ImportError;
use super::super::flatten::{FlatNode, SymbolId};
use super::super::walk::{Refusal, State, Walk};
use super::block::{Block, Decision, count, give, truth};
use super::stack::{self, Order};

/// What a loop goes through from one iteration to the next.
struct Iterations {
    /// How many there are at most.
    trips: Option<i64>,
    /// Whether there is another one, if the loop asks.
    condition: Option<SymbolId>,
    carried: Vec<SymbolId>,
    /// For each output that is collected, its values so far.
    collected: Vec<Vec<SymbolId>>,
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
    let trips = match input(0).map(|symbol| count(walk, symbol)).transpose()? {
        None => None,
        Some(Decision::Known(trips)) => Some(trips),
        Some(Decision::Unknown) => return Ok(()),
        Some(Decision::Open) => return Err("the trip count is not known at compile time".to_owned().into()),
    };
    let collected = vec![Vec::new(); collected];
    let mut iterations = Iterations { trips, condition: input(1), carried, collected };
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
    }
    Ok(())
}

impl Iterations {
    /// Whether there is an iteration of this number; `None` if what says so is refused itself.
    fn another(&self, walk: &Walk, node: &FlatNode, at: i64) -> Result<Option<bool>, Refusal> {
        if self.trips.is_some_and(|trips| at >= trips) {
            return Ok(Some(false));
        }
        match self.condition.map(|symbol| truth(walk, symbol)).transpose()? {
            Some(Decision::Known(false)) => return Ok(Some(false)),
            None | Some(Decision::Known(true)) => {}
            Some(Decision::Unknown) => return Ok(None),
            Some(Decision::Open) => {
                let reason = format!("whether there is an iteration {at} is not known at compile time");
                return Err(reason.into());
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
        let outputs = block.run(walk, &inputs, &prefix)?;
        let (condition, rest) = outputs.split_first().ok_or_else(|| "the body has no outputs".to_owned())?;
        if self.condition.is_some() {
            self.condition = Some(*condition);
        }
        let (carried, parts) = rest.split_at(self.carried.len());
        self.carried = carried.to_vec();
        self.collected.iter_mut().zip(parts).for_each(|(collected, &part)| collected.push(part));
        Ok(())
    }
}
