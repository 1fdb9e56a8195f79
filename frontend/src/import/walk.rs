//! A graph in the making, and what is known of its symbols.

use warpweave_graph::arena::Arena;
use warpweave_graph::counted;
use warpweave_graph::ops::logic::where_::Where;
use warpweave_graph::ops::{Context, Fact, InferError, Op};
use warpweave_graph::passes::constant_folding::evaluate_node;
use warpweave_graph::types::MAX_RANK;
use warpweave_graph::{Graph, Shape, Tensor, TensorType, ValueId, ValueType};

use super::control::Guards;
use super::counts::{Count, Counts, Extent, Replaced};
use super::error::{ImportError, UnsupportedNode};
use super::flatten::{Flattening, SymbolId};
use super::options::Limits;
use super::reason::Reason;
use crate::obstacle::Obstacle;
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
    /// What a branch reads of another symbol, not in the graph yet.
    Gated(Gate),
    Sequence(Vec<SymbolId>),
}

/// A symbol where a condition, a scalar of the graph, is `open`, else zeros: a gradient goes no further back where it is not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) of: SymbolId,
    pub(super) condition: SymbolId,
    pub(super) open: bool,
}

/// A graph in the making.
pub(super) struct Walk<'m> {
    pub(super) graph: Graph,
    pub(super) states: Arena<SymbolId, State>,
    pub(super) unsupported: Vec<UnsupportedNode>,
    pub(super) flattening: Flattening<'m>,
    pub(super) weights: Weights<'m>,
    pub(super) limits: Limits,
    /// Whether a training step is made of the graph.
    pub(super) trains: bool,
    /// Elements of all sequences together.
    pub(super) sequence_elements: usize,
    /// How many graphs inside nodes the walk stands in.
    pub(super) depth: usize,
    /// The values whose extents depend on data.
    pub(super) counts: Counts,
    /// The conditions under which nodes run.
    pub(super) guards: Guards,
}

/// An operator and what it is applied to.
#[derive(Clone, Copy)]
pub(super) struct Applied<'a> {
    pub(super) name: &'a str,
    pub(super) op: &'a Op,
    pub(super) inputs: &'a [Option<SymbolId>],
    pub(super) outputs: &'a [Option<SymbolId>],
    /// What is known of the inputs.
    pub(super) facts: &'a [Option<Fact>],
}

impl<'a> Applied<'a> {
    pub(super) fn context(self) -> Context<'a> {
        Context::new(self.facts, self.outputs.len())
    }
}

/// What is known of a node's inputs and outputs.
struct Inferred {
    facts: Vec<Option<Fact>>,
    types: Vec<ValueType>,
    replaced: Vec<Replaced>,
}

/// Why a node does not become a part of the graph.
pub(super) enum Refusal {
    /// The node is not supported; others may be, and are listed with it.
    Unsupported(Reason),
    /// The model is refused.
    Fatal(ImportError),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Unsupported(reason.into())
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
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
            trains: false,
            sequence_elements: 0,
            depth: 0,
            counts: Counts::default(),
            guards: Guards::default(),
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
            State::Unknown | State::Sequence(_) => None,
            State::Value(value) => Some(*value),
            State::Gated(gate) => {
                let gate = *gate;
                self.gate(symbol, gate)
            }
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

    /// A symbol behind a gate, if gradients go through it.
    pub(super) fn gated(&mut self, gate: Gate) -> SymbolId {
        let is_differentiated = match self.state(gate.of) {
            State::Unknown | State::Constant(_) | State::Sequence(_) => false,
            State::Variable(_) | State::Gated(_) => true,
            State::Value(value) => {
                let is_float = |ty: &TensorType| ty.element.is_float();
                self.graph.values[*value].ty.as_tensor().is_some_and(is_float) && !self.counts.of.contains_key(value)
            }
        };
        if !is_differentiated {
            return gate.of;
        }
        let name = self.flattening.symbols[gate.of].clone();
        let symbol = self.flattening.symbol(&name, "gated");
        self.define(symbol, State::Gated(gate));
        symbol
    }

    /// The value of a gate, which becomes a choice.
    fn gate(&mut self, symbol: SymbolId, Gate { of, condition, open }: Gate) -> Option<ValueId> {
        let fact = self.fact(of)?;
        let element = fact.ty.as_tensor()?.element;
        let name = self.flattening.symbols[symbol].clone();
        let zero = Tensor::from_f64(TensorType { element, shape: Shape::scalar() }, &[0.0]);
        let zero = self.graph.constant(name.clone(), zero);
        let (condition, of) = (self.value(condition)?, self.value(of)?);
        let (holds, fails) = if open { (of, zero) } else { (zero, of) };
        let inputs = vec![Some(condition), Some(holds), Some(fails)];
        let id = self.graph.node(&name, Op::Where(Where), inputs, vec![(name.clone(), fact.ty)]);
        let value = self.graph.nodes[id].outputs[0];
        self.define(symbol, State::Value(value));
        Some(value)
    }

    /// Appends an operator, or folds it.
    pub(super) fn apply(
        &mut self,
        name: &str,
        op: Op,
        inputs: &[Option<SymbolId>],
        outputs: &[Option<SymbolId>],
    ) -> Result<(), Reason> {
        if self.passes_sequence(&op, inputs, outputs)? || self.ranked(name, &op, inputs, outputs)? {
            return Ok(());
        }
        let mut inputs = inputs.to_vec();
        let Some(Inferred { facts, types, replaced }) = self.infer(&op, &mut inputs, outputs.len())? else {
            return Ok(());
        };
        let applied = Applied { name, op: &op, inputs: &inputs, outputs, facts: &facts };
        if self.take_extents(applied)? || self.take_smallest(applied, &types)? || self.masked(applied)? {
            return Ok(());
        }
        if replaced.is_empty() && self.sliced(applied)? {
            return Ok(());
        }
        if let Some(inputs) = self.guarded_inputs(applied)? {
            return self.apply(name, op, &inputs, outputs);
        }
        let counted = op.counted(&applied.context());
        let followed = self.followed(applied, &types)?;
        let followed = self.grown(applied, &types, &replaced, followed)?;
        let extents = self.moved_extents(applied, &types);
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
        if let (Some((known, extents)), &[Some(output)]) = (&extents, outputs)
            && extents.iter().all(|extent| matches!(extent, Extent::Known(_)))
        {
            self.define(output, State::Constant(known.clone()));
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
            self.counts.of.insert(values[counted.output], count);
        }
        if let Some(count) = followed {
            self.counts.of.extend(values.iter().map(|&value| (value, count)));
        }
        if let Some((_, extents)) = extents {
            self.counts.extents.insert(values[0], extents);
        }
        for (output, value) in outputs.iter().zip(self.graph.nodes[id].outputs.clone()) {
            if let Some(output) = *output {
                self.define(output, State::Value(value));
            }
        }
        Ok(())
    }

    /// What is known of inputs and outputs; `None` if an input is not known. Inputs that must be constant become so where
    /// they can.
    fn infer(&mut self, op: &Op, inputs: &mut [Option<SymbolId>], outputs: usize) -> Result<Option<Inferred>, Reason> {
        let mut replaced = Vec::new();
        loop {
            let Some(facts) = self.facts(inputs) else { return Ok(None) };
            match op.infer(&Context::new(&facts, outputs)) {
                Ok(types) if types.len() < outputs => {
                    return Err(Reason::new(Obstacle::Form, format!("{outputs} outputs are not supported")));
                }
                Ok(types) => {
                    types.iter().try_for_each(|ty| self.check(ty))?;
                    return Ok(Some(Inferred { facts, types, replaced }));
                }
                Err(InferError::NotConstant(input)) if self.fix(inputs, input) => {}
                Err(error) => {
                    let extents = match error {
                        InferError::NotConstant(input) => self.replace_extents(op, inputs, input),
                        _ => None,
                    };
                    replaced.push(extents.ok_or_else(|| self.refusal(inputs, &error))?);
                }
            }
        }
    }

    /// Gives a sequence another name; `false` if no input is one, and an error if an operator computes with one.
    fn passes_sequence(
        &mut self,
        op: &Op,
        inputs: &[Option<SymbolId>],
        outputs: &[Option<SymbolId>],
    ) -> Result<bool, Reason> {
        let is_sequence = |symbol: &SymbolId| matches!(self.state(*symbol), State::Sequence(_));
        let Some(&sequence) = inputs.iter().flatten().find(|symbol| is_sequence(symbol)) else { return Ok(false) };
        match (op, outputs) {
            (Op::Identity(_), &[Some(output)]) => self.define(output, self.state(sequence).clone()),
            _ => {
                let name = &self.flattening.symbols[sequence];
                let text = format!("`{name}` is a sequence, which is not supported here");
                return Err(Reason::new(Obstacle::NotTensor, text));
            }
        }
        Ok(true)
    }

    /// Makes a variable that no operator has read so far a constant; `false` if the input is none.
    fn fix(&mut self, inputs: &[Option<SymbolId>], input: usize) -> bool {
        let Some(symbol) = inputs.get(input).copied().flatten() else { return false };
        let mut holder = symbol;
        while let State::Gated(gate) = self.state(holder) {
            holder = gate.of;
        }
        let State::Variable(tensor) = self.state(holder) else { return false };
        let tensor = tensor.clone();
        self.define(holder, State::Constant(tensor.clone()));
        self.define(symbol, State::Constant(tensor));
        true
    }

    /// Why inference refuses a node, with the name of an input that should be constant.
    fn refusal(&self, inputs: &[Option<SymbolId>], error: &InferError) -> Reason {
        let symbol = match error {
            InferError::NotConstant(input) => inputs.get(*input).copied().flatten(),
            _ => None,
        };
        let text = match symbol {
            Some(symbol) => format!("{error}: it is `{}`", self.flattening.symbols[symbol]),
            None => error.to_string(),
        };
        Reason::of_inference(error, text)
    }

    /// What is known of a symbol; `None` if nothing is.
    pub(super) fn fact(&self, symbol: SymbolId) -> Option<Fact> {
        match self.state(symbol) {
            State::Unknown | State::Sequence(_) => None,
            State::Constant(tensor) => Some(Fact { ty: tensor.ty().clone().into(), value: Some(tensor.clone()) }),
            State::Variable(tensor) => Some(Fact { ty: tensor.ty().clone().into(), value: None }),
            State::Gated(gate) => self.fact(gate.of),
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
    pub(super) fn check(&self, ty: &ValueType) -> Result<(), Reason> {
        let Some(tensor) = ty.as_tensor() else {
            return Err(Reason::new(Obstacle::NotTensor, format!("a value of type {ty} is not supported")));
        };
        let rank = tensor.shape.len();
        if rank > MAX_RANK {
            let text = format!("{tensor} has rank {rank}, and at most {MAX_RANK} is supported");
            return Err(Reason::new(Obstacle::Rank, text));
        }
        // Extents of 0 count as 1: sums and products of extents must not overflow anywhere.
        let cells = tensor.shape.iter().try_fold(1u64, |cells, &extent| cells.checked_mul(extent.max(1) as u64));
        let bytes = cells.and_then(|cells| cells.checked_mul(tensor.element.bytes() as u64));
        match bytes {
            Some(bytes) if bytes <= self.limits.value_bytes => Ok(()),
            Some(_) | None => {
                let limit = self.limits.value_bytes;
                let text = format!("a value of type {tensor} is larger than the limit of {limit} bytes");
                Err(Reason::new(Obstacle::Size, text))
            }
        }
    }
}
