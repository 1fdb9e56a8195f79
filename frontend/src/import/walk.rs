//! The walk over the nodes in order: every node becomes an operator, a constant, or an entry among the unsupported.

use warpweave_graph::arena::Arena;
use warpweave_graph::ops::{AttributeReader, Context, Fact, Op};
use warpweave_graph::passes::constant_folding::evaluate_node;
use warpweave_graph::types::MAX_RANK;
use warpweave_graph::{Graph, Tensor, ValueId, ValueType};

use super::constant;
use super::error::UnsupportedNode;
use super::flatten::{FlatNode, SymbolId};
use super::options::Limits;
use crate::attributes;
use crate::weights::Weights;

/// What is known of a symbol.
#[derive(Clone, Debug, Default)]
pub(super) enum State {
    /// Nothing, because a node before it is not supported.
    #[default]
    Unknown,
    /// A constant that is not in the graph yet.
    Constant(Tensor),
    /// A value of the graph.
    Value(ValueId),
}

/// A graph in the making.
pub(super) struct Walk<'a> {
    pub(super) graph: Graph,
    pub(super) states: Arena<SymbolId, State>,
    pub(super) unsupported: Vec<UnsupportedNode>,
    names: &'a Arena<SymbolId, String>,
    limits: &'a Limits,
}

impl<'a> Walk<'a> {
    pub(super) fn new(graph: Graph, names: &'a Arena<SymbolId, String>, limits: &'a Limits) -> Self {
        let states = names.ids().map(|_| State::Unknown).collect();
        Self { graph, states, unsupported: Vec::new(), names, limits }
    }

    /// Takes the next node.
    pub(super) fn node(&mut self, node: &FlatNode, weights: &mut Weights) {
        if let Err(reason) = self.try_node(node, weights) {
            let FlatNode { name, domain, operator, opset, .. } = node;
            self.unsupported.push(UnsupportedNode {
                node: name.clone(),
                domain: domain.clone(),
                operator: operator.clone(),
                opset: opset.unwrap_or(0),
                reason,
            });
        }
    }

    /// The graph's value of a symbol, if anything is known of it.
    pub(super) fn value(&mut self, symbol: SymbolId) -> Option<ValueId> {
        match &self.states[symbol] {
            State::Unknown => None,
            State::Value(value) => Some(*value),
            State::Constant(tensor) => {
                let value = self.graph.constant(self.names[symbol].clone(), tensor.clone());
                self.states[symbol] = State::Value(value);
                Some(value)
            }
        }
    }

    fn try_node(&mut self, node: &FlatNode, weights: &mut Weights) -> Result<(), String> {
        let opset = node.opset.ok_or_else(|| format!("no opset is declared for domain `{}`", node.domain))?;
        refuse_control_flow(node)?;
        let attributes = node.attributes.iter().map(|&(name, value)| {
            let value = attributes::read(name, value, weights).map_err(|error| error.to_string())?;
            Ok((name.to_owned(), value))
        });
        let mut reader = AttributeReader::new(attributes.collect::<Result<Vec<_>, String>>()?, opset);
        if node.domain.is_empty() && node.operator == constant::NAME {
            let tensor = constant::value(&mut reader).map_err(|error| error.to_string())?;
            if let Some(&Some(output)) = node.outputs.first() {
                self.states[output] = State::Constant(tensor);
            }
            return Ok(());
        }
        let op = Op::import(&node.domain, &node.operator, &mut reader).map_err(|error| error.to_string())?;
        let Some(facts) = self.facts(&node.inputs) else {
            return Ok(());
        };
        let outputs = node.outputs.len();
        let types = op.infer(&Context::new(&facts, outputs)).map_err(|error| error.to_string())?;
        if types.len() < outputs {
            return Err(format!("{outputs} outputs are not supported"));
        }
        types.iter().try_for_each(|ty| self.check(ty))?;
        if let Some(tensors) = evaluate_node(&op, &facts, &types[..outputs]) {
            for (output, tensor) in node.outputs.iter().zip(tensors) {
                if let Some(output) = *output {
                    self.states[output] = State::Constant(tensor);
                }
            }
            return Ok(());
        }
        let inputs = node.inputs.iter().map(|input| input.and_then(|symbol| self.value(symbol))).collect();
        let name = |symbol: &Option<SymbolId>| symbol.map_or(String::new(), |symbol| self.names[symbol].clone());
        let named = node.outputs.iter().map(name).zip(types).collect();
        let id = self.graph.node(node.name.clone(), op, inputs, named);
        for (output, value) in node.outputs.iter().zip(self.graph.nodes[id].outputs.clone()) {
            if let Some(output) = *output {
                self.states[output] = State::Value(value);
            }
        }
        Ok(())
    }

    /// What is known of the inputs; `None` if nothing is known of one.
    fn facts(&self, inputs: &[Option<SymbolId>]) -> Option<Vec<Option<Fact>>> {
        let fact = |symbol: SymbolId| match &self.states[symbol] {
            State::Unknown => None,
            State::Constant(tensor) => Some(Fact { ty: tensor.ty().clone().into(), value: Some(tensor.clone()) }),
            State::Value(value) => {
                let constant = self.graph.constant_value(*value).cloned();
                Some(Fact { ty: self.graph.values[*value].ty.clone(), value: constant })
            }
        };
        let facts = inputs.iter().map(|input| match input {
            None => Some(None),
            Some(symbol) => fact(*symbol).map(Some),
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

fn refuse_control_flow(node: &FlatNode) -> Result<(), String> {
    match node.operator.as_str() {
        "If" | "Loop" | "Scan" if node.domain.is_empty() => Err("control flow over graphs is not supported".to_owned()),
        _ => Ok(()),
    }
}
