//! A graph in the making, and what is known of its symbols.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;
use warpweave_graph::counted::{self, CountedOutput};
use warpweave_graph::ops::{Context, Fact, InferError, Op};
use warpweave_graph::passes::constant_folding::evaluate_node;
use warpweave_graph::types::MAX_RANK;
use warpweave_graph::{Graph, Tensor, ValueId, ValueType};

use super::error::{ImportError, UnsupportedNode};
use super::flatten::{Flattening, SymbolId};
use super::options::Limits;
use crate::weights::Weights;

/// What is known of a symbol.
#[derive(Clone, Debug, Default)]
pub(super) enum State {
    /// Nothing, because a node before it is not supported.
    #[default]
    Unknown,
    /// A constant that is not in the graph yet.
    Constant(Tensor),
    /// A tensor that a training step changes, not in the graph yet.
    Variable(Tensor),
    /// A value of the graph.
    Value(ValueId),
}

/// A graph in the making.
pub(super) struct Walk<'m> {
    pub(super) graph: Graph,
    pub(super) states: Arena<SymbolId, State>,
    pub(super) unsupported: Vec<UnsupportedNode>,
    pub(super) flattening: Flattening<'m>,
    pub(super) weights: Weights<'m>,
    pub(super) limits: Limits,
    /// How many graphs inside nodes the walk stands in.
    pub(super) depth: usize,
    /// The values whose extents depend on data.
    counts: BTreeMap<ValueId, Count>,
}

/// A dimension of a value that has as many elements as another value says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Count {
    dimension: usize,
    count: ValueId,
}

/// Why a node does not become a part of the graph.
pub(super) enum Refusal {
    /// The node is not supported; others may be, and are listed with it.
    Unsupported(String),
    /// The model is refused.
    Fatal(ImportError),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Unsupported(reason)
    }
}

impl From<ImportError> for Refusal {
    fn from(error: ImportError) -> Self {
        Self::Fatal(error)
    }
}

impl<'m> Walk<'m> {
    pub(super) fn new(graph: Graph, flattening: Flattening<'m>, weights: Weights<'m>, limits: Limits) -> Self {
        Self {
            graph,
            states: Arena::new(),
            unsupported: Vec::new(),
            flattening,
            weights,
            limits,
            depth: 0,
            counts: BTreeMap::new(),
        }
    }

    /// What is known of a symbol.
    pub(super) fn state(&self, symbol: SymbolId) -> &State {
        self.states.get(symbol).unwrap_or(&State::Unknown)
    }

    /// Says what is known of a symbol.
    pub(super) fn define(&mut self, symbol: SymbolId, state: State) {
        while self.states.len() < self.flattening.symbols.len() {
            self.states.push(State::Unknown);
        }
        self.states[symbol] = state;
    }

    /// A new symbol with this value.
    pub(super) fn constant(&mut self, name: &str, value: Tensor) -> SymbolId {
        let symbol = self.flattening.symbol("", name);
        self.define(symbol, State::Constant(value));
        symbol
    }

    /// The graph's value of a symbol, if anything is known of it.
    pub(super) fn value(&mut self, symbol: SymbolId) -> Option<ValueId> {
        match self.state(symbol) {
            State::Unknown => None,
            State::Value(value) => Some(*value),
            State::Variable(tensor) => {
                let value = self.graph.variable(self.flattening.symbols[symbol].clone(), tensor.clone());
                self.define(symbol, State::Value(value));
                Some(value)
            }
            State::Constant(tensor) => {
                let value = self.graph.constant(self.flattening.symbols[symbol].clone(), tensor.clone());
                self.define(symbol, State::Value(value));
                Some(value)
            }
        }
    }

    /// Appends an operator, or folds it.
    pub(super) fn apply(
        &mut self,
        name: &str,
        op: Op,
        inputs: &[Option<SymbolId>],
        outputs: &[Option<SymbolId>],
    ) -> Result<(), String> {
        let Some(mut facts) = self.facts(inputs) else {
            return Ok(());
        };
        let types = loop {
            match op.infer(&Context::new(&facts, outputs.len())) {
                Ok(types) => break types,
                Err(InferError::NotConstant(input)) if self.fix(inputs, input) => {
                    facts = self.facts(inputs).unwrap_or_default();
                }
                Err(error) => return Err(self.refusal(inputs, &error)),
            }
        };
        if types.len() < outputs.len() {
            return Err(format!("{} outputs are not supported", outputs.len()));
        }
        types.iter().try_for_each(|ty| self.check(ty))?;
        let context = Context::new(&facts, outputs.len());
        let (counted, followed) = (op.counted(&context), self.followed(&op, &context, inputs)?);
        // The outputs that hold counts stand behind those that the model names.
        let made = if counted.is_empty() { outputs.len() } else { types.len() };
        if let Some(tensors) = evaluate_node(&op, &facts, &types[..made]).filter(|_| followed.is_none()) {
            for (output, tensor) in outputs.iter().zip(counted::cut(tensors, &counted)) {
                if let Some(output) = *output {
                    self.define(output, State::Constant(tensor));
                }
            }
            return Ok(());
        }
        let inputs = inputs.iter().map(|input| input.and_then(|symbol| self.value(symbol))).collect();
        let symbols = &self.flattening.symbols;
        let text = |symbol: &Option<SymbolId>| symbol.map_or(String::new(), |symbol| symbols[symbol].clone());
        let names = outputs.iter().map(text).chain(std::iter::repeat_n(String::new(), made - outputs.len()));
        let named = names.zip(types).collect();
        let id = self.graph.node(name, op, inputs, named);
        let values = &self.graph.nodes[id].outputs;
        for counted in &counted {
            let count = Count { dimension: counted.dimension, count: values[counted.count] };
            self.counts.insert(values[counted.output], count);
        }
        if let Some(count) = followed {
            self.counts.extend(values.iter().map(|&value| (value, count)));
        }
        for (output, value) in outputs.iter().zip(self.graph.nodes[id].outputs.clone()) {
            if let Some(output) = *output {
                self.define(output, State::Value(value));
            }
        }
        Ok(())
    }

    /// Makes a variable that no operator has read so far a constant; `false` if the input is none.
    fn fix(&mut self, inputs: &[Option<SymbolId>], input: usize) -> bool {
        let Some(symbol) = inputs.get(input).copied().flatten() else { return false };
        let State::Variable(tensor) = self.state(symbol) else { return false };
        let tensor = tensor.clone();
        self.define(symbol, State::Constant(tensor));
        true
    }

    /// The dimension of the outputs of which only some elements count, and how many do; an error where the operator may mix them
    /// with others.
    fn followed(&self, op: &Op, context: &Context, inputs: &[Option<SymbolId>]) -> Result<Option<Count>, String> {
        let mut followed = None;
        for (input, symbol) in inputs.iter().enumerate() {
            let Some(State::Value(value)) = symbol.map(|symbol| self.state(symbol)) else { continue };
            let Some(Count { dimension, count }) = self.counts.get(value) else { continue };
            let refused = || {
                let name = &self.graph.values[*value].name;
                format!(
                    "`{name}` has as many elements along dimension {dimension} as its data say, which is not supported here"
                )
            };
            let dimension = op.follows(context, input, *dimension).ok_or_else(refused)?;
            let found = Count { dimension, count: *count };
            if followed.is_some_and(|known| known != found) {
                return Err(refused());
            }
            followed = Some(found);
        }
        Ok(followed)
    }

    /// Adds how many elements count to the graph's outputs.
    pub(super) fn count_outputs(&mut self) {
        let graph = &mut self.graph;
        let mut known: BTreeMap<ValueId, usize> = BTreeMap::new();
        for output in 0..graph.outputs.len() {
            let Some(&Count { dimension, count }) = self.counts.get(&graph.outputs[output].value) else { continue };
            let count = *known.entry(count).or_insert_with(|| {
                graph.output(count);
                graph.outputs.len() - 1
            });
            graph.counted.push(CountedOutput { output, dimension, count });
        }
    }

    /// Why inference refuses a node, with the name of an input that should be constant.
    fn refusal(&self, inputs: &[Option<SymbolId>], error: &InferError) -> String {
        if let InferError::NotConstant(input) = error
            && let Some(symbol) = inputs.get(*input).copied().flatten()
        {
            return format!("{error}: it is `{}`", self.flattening.symbols[symbol]);
        }
        error.to_string()
    }

    /// What is known of a symbol; `None` if nothing is.
    pub(super) fn fact(&self, symbol: SymbolId) -> Option<Fact> {
        match self.state(symbol) {
            State::Unknown => None,
            State::Constant(tensor) => Some(Fact { ty: tensor.ty().clone().into(), value: Some(tensor.clone()) }),
            State::Variable(tensor) => Some(Fact { ty: tensor.ty().clone().into(), value: None }),
            State::Value(value) => {
                let constant = self.graph.constant_value(*value).cloned();
                Some(Fact { ty: self.graph.values[*value].ty.clone(), value: constant })
            }
        }
    }

    /// What is known of the inputs; `None` if nothing is known of one.
    fn facts(&self, inputs: &[Option<SymbolId>]) -> Option<Vec<Option<Fact>>> {
        let facts = inputs.iter().map(|input| match input {
            None => Some(None),
            Some(symbol) => self.fact(*symbol).map(Some),
        });
        facts.collect()
    }

    /// Refuses types that are too large to compute with.
    pub(super) fn check(&self, ty: &ValueType) -> Result<(), String> {
        let Some(tensor) = ty.as_tensor() else {
            return Err(format!("a value of type {ty} is not supported"));
        };
        if tensor.shape.len() > MAX_RANK {
            return Err(format!("{tensor} has rank {}, and at most {MAX_RANK} is supported", tensor.shape.len()));
        }
        // Extents of 0 count as 1: sums and products of extents must not overflow anywhere.
        let cells = tensor.shape.iter().try_fold(1u64, |cells, &extent| cells.checked_mul(extent.max(1) as u64));
        let bytes = cells.and_then(|cells| cells.checked_mul(tensor.element.bytes() as u64));
        match bytes {
            Some(bytes) if bytes <= self.limits.value_bytes => Ok(()),
            Some(_) | None => {
                Err(format!("a value of type {tensor} is larger than the limit of {} bytes", self.limits.value_bytes))
            }
        }
    }
}
