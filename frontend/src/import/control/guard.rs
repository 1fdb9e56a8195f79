//! Nodes that run only where a condition holds, and are computed all the same: what they read at must exist.
//!
//! A branch that is not taken, and an iteration behind a loop's end, may compute indices of any value. Where the condition
//! does not hold, such an index is 0, which names a place of whatever has one.

use std::collections::BTreeSet;

use warpweave_graph::index_check::IndexCheck;
use warpweave_graph::ops::{Context, Fact, Op};
use warpweave_graph::program::{Definition, ProgramBuilder, Source, TensorDefinition, TensorId};
use warpweave_graph::{ElementType, NodeId, TensorProgram, ValueId};

use super::super::flatten::SymbolId;
use super::super::walk::{Applied, State, Walk};

/// Conditions under which nodes run.
#[derive(Default, Debug)]
pub(in crate::import) struct Guards {
    /// The conditions around the walk, truth values of the graph; the last holds only where all do.
    conditions: Vec<SymbolId>,
    /// Indices that are 0 where the condition around them does not hold.
    values: BTreeSet<ValueId>,
}

/// Where an operator's indices come from, if they are not known at compile time.
enum Checked {
    /// They are the elements of the input at this position.
    Input(usize),
    /// The operator computes them.
    Computed,
}

impl<'m> Walk<'m> {
    /// Runs `within` for nodes that run only where a condition holds.
    pub(super) fn guarded<T, E: From<String>>(
        &mut self,
        name: &str,
        condition: SymbolId,
        within: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let condition = match self.guards.conditions.last().copied() {
            Some(outer) => self.result(name, "And", &[Some(outer), Some(condition)])?,
            None => condition,
        };
        self.guards.conditions.push(condition);
        let result = within(self);
        self.guards.conditions.pop();
        result
    }

    /// The inputs of an operator with indices that are 0 where the condition around it does not hold; `None` if they are already.
    pub(in crate::import) fn guarded_inputs(
        &mut self,
        applied: Applied<'_>,
    ) -> Result<Option<Vec<Option<SymbolId>>>, String> {
        let Applied { name, op, inputs, facts, outputs } = applied;
        let Some(&condition) = self.guards.conditions.last() else { return Ok(None) };
        let mut guarded = inputs.to_vec();
        for checked in checked(op, facts, outputs.len()) {
            let Checked::Input(at) = checked else { continue };
            let Some(index) = inputs[at].filter(|&index| !self.is_guarded(index)) else { continue };
            let zero = self.zero_like(name, index)?;
            let choice = self.result(name, "Where", &[Some(condition), Some(index), Some(zero)])?;
            if let State::Value(value) = *self.state(choice) {
                self.guards.values.insert(value);
                if matches!(self.state(index), State::Value(index) if self.counts.places.contains(index)) {
                    self.counts.places.insert(value);
                }
            }
            guarded[at] = Some(choice);
        }
        Ok((guarded != inputs).then_some(guarded))
    }

    /// Whether a value is known at compile time, or 0 where the condition around it does not hold.
    fn is_inside(&self, value: ValueId) -> bool {
        self.graph.constant_value(value).is_some() || self.guards.values.contains(&value)
    }

    fn is_guarded(&self, symbol: SymbolId) -> bool {
        match self.state(symbol) {
            State::Value(value) => self.is_inside(*value),
            _ => true,
        }
    }

    /// Whether a node may read outside of a tensor where the condition around it does not hold.
    pub(super) fn may_fail(&self, id: NodeId) -> bool {
        let node = &self.graph.nodes[id];
        let checked = checked(&node.op, &self.graph.facts(&node.inputs), node.outputs.len());
        checked.into_iter().any(|checked| match checked {
            Checked::Input(at) => node.inputs[at].is_some_and(|index| !self.is_inside(index)),
            Checked::Computed => true,
        })
    }
}

/// The sources of an operator's indices.
fn checked(op: &Op, facts: &[Option<Fact>], outputs: usize) -> Vec<Checked> {
    let mut program = ProgramBuilder::new();
    let tensor = |fact: &Option<Fact>| {
        let fact = fact.as_ref()?;
        match &fact.value {
            Some(value) => Some(program.constant(value.clone())),
            None => Some(program.input(fact.ty.as_tensor()?.clone())),
        }
    };
    let inputs: Vec<Option<TensorId>> = facts.iter().map(tensor).collect();
    let is_tensor = |(fact, input): (&Option<Fact>, &Option<TensorId>)| fact.is_some() == input.is_some();
    if !facts.iter().zip(&inputs).all(is_tensor) {
        return vec![Checked::Computed];
    }
    let outputs = op.lower(&Context::new(facts, outputs), &inputs, &mut program);
    let program = program.finish(outputs);
    let whose = |check: IndexCheck| {
        let input = inputs.iter().position(|input| *input == Some(check.tensor));
        input.map(Checked::Input).or_else(|| is_of_integers(&program, check.tensor).then_some(Checked::Computed))
    };
    IndexCheck::of(&program).into_iter().filter_map(whose).collect()
}

/// Whether a tensor is computed from integers that the caller gives. Places of what is sorted or marked lie inside whatever they
/// are of.
fn is_of_integers(program: &TensorProgram, tensor: TensorId) -> bool {
    let mut seen = BTreeSet::new();
    let mut left = vec![tensor];
    while let Some(tensor) = left.pop() {
        let TensorDefinition { ty, source } = &program.tensors[tensor];
        if !ty.element.is_integer() || ty.element == ElementType::Bool || !seen.insert(tensor) {
            continue;
        }
        match source {
            Source::Input(_) => return true,
            Source::Constant(_) | Source::State(_) => {}
            Source::Statement(statement) => match &program.statements[*statement].definition {
                Definition::Compute(_) | Definition::Concat { .. } => {
                    left.extend(&program.statements[*statement].operands)
                }
                Definition::Opaque(_) => {}
            },
        }
    }
    false
}
