//! A graph inside a node, which is expanded as often as it runs.

use warpweave_graph::ops::{Attribute, AttributeReader, Op};
use warpweave_graph::{ElementType, Tensor};

use super::super::error::ImportError;
use super::super::flatten::{FlatNode, SymbolId};
use super::super::subgraph::Environment;
use super::super::walk::{Gate, Refusal, State, Walk};
use crate::onnx::GraphProto;

/// A graph inside a node.
pub(super) struct Block<'m> {
    pub(super) graph: &'m GraphProto,
    /// What it reads from outside, and its constants.
    environment: Environment<'m>,
}

impl<'m> Block<'m> {
    /// The graph that an attribute of the node holds. Its constants are read once.
    pub(super) fn new(walk: &mut Walk<'m>, node: &FlatNode<'m>, attribute: &str) -> Result<Self, Refusal> {
        let value = node.attributes.iter().find(|(name, _)| *name == attribute).map(|(_, value)| *value);
        let value = value.ok_or_else(|| format!("attribute {attribute} is missing"))?;
        let graph = value.g.as_ref().ok_or_else(|| format!("attribute {attribute} is of the wrong kind"))?;
        let Some(mut environment) = node.environment.clone() else {
            return Err(
                format!("attribute {attribute} is a graph that a function is given, which is not supported").into()
            );
        };
        if !graph.sparse_initializer.is_empty() {
            return Err("sparse constants are not supported".to_owned().into());
        }
        for proto in &graph.initializer {
            let error = |error| ImportError::Weight { tensor: proto.name.clone(), error };
            let value = walk.weights.read(proto).map_err(error)?;
            let symbol = walk.flattening.symbol(&node.name, &proto.name);
            walk.define(symbol, State::Constant(value));
            environment.names.insert(&proto.name, Some(symbol));
        }
        Ok(Self { graph, environment })
    }

    /// Puts what the graph reads from outside behind gates.
    pub(super) fn gate(&mut self, walk: &mut Walk<'m>, condition: SymbolId, open: bool) {
        for of in self.environment.names.values_mut().flatten() {
            *of = walk.gated(Gate { of: *of, condition, open });
        }
    }

    /// Expands the graph once, applied to `inputs`; its outputs. `prefix` begins the names inside.
    pub(super) fn run(&self, walk: &mut Walk<'m>, inputs: &[SymbolId], prefix: &str) -> Result<Vec<SymbolId>, Refusal> {
        let Self { graph, environment } = self;
        if graph.input.len() != inputs.len() {
            let reason = format!("the graph has {} inputs and is given {}", graph.input.len(), inputs.len());
            return Err(reason.into());
        }
        let mut environment = environment.clone();
        let mut given: Vec<SymbolId> = environment.names.values().flatten().copied().collect();
        for (input, &symbol) in graph.input.iter().zip(inputs) {
            environment.names.insert(&input.name, Some(symbol));
            given.push(symbol);
        }
        // One value may go by several names, and is given once.
        given.sort_unstable();
        given.dedup();
        let (nodes, names) = walk.flattening.expand_all(&graph.node, environment, prefix)?;
        walk.depth += 1;
        if walk.depth > walk.limits.graph_depth {
            let (culprit, limit) = (prefix.to_owned(), walk.limits.graph_depth as u64);
            return Err(ImportError::Limit { culprit, what: "depth of graphs inside nodes", limit }.into());
        }
        walk.nodes(nodes, &given)?;
        walk.depth -= 1;
        let symbol = |name: &str| names.get(name).copied().flatten();
        let outputs = graph.output.iter().map(|output| {
            symbol(&output.name).ok_or_else(|| format!("output `{}` of its graph is not defined", output.name).into())
        });
        outputs.collect()
    }
}

/// The operator of the default domain that has these attributes, which it accepts.
pub(in crate::import) fn operator(name: &str, attributes: &[(&str, i64)]) -> Result<Op, String> {
    let attributes = attributes.iter().map(|&(name, value)| (name.to_owned(), Attribute::Int(value)));
    Op::import("", name, &mut AttributeReader::new(attributes, OPSET)).map_err(|error| error.to_string())
}

/// The opset of the operators that nodes become at import.
const OPSET: i64 = 15;

/// Makes `outer`, an output of the node, the value that `inner` is.
pub(super) fn give(walk: &mut Walk, node: &FlatNode, outer: Option<SymbolId>, inner: SymbolId) -> Result<(), String> {
    match outer {
        Some(_) => Ok(walk.apply(&node.name, operator("Identity", &[])?, &[Some(inner)], &[outer])?),
        None => Ok(()),
    }
}

/// What is known of a scalar that control flow depends on.
pub(super) enum Decision<T> {
    /// Nothing, because a node before it is not supported.
    Unknown,
    /// Its value.
    Known(T),
    /// It depends on what the caller provides.
    Open,
}

/// A truth value.
pub(super) fn truth(walk: &Walk, symbol: SymbolId) -> Result<Decision<bool>, String> {
    let element = |tensor: &Tensor| tensor.to_i64()[0] != 0;
    let decision = decision(walk, symbol, ("truth value", ElementType::Bool), element)?;
    Ok(match (decision, walk.state(symbol)) {
        (Decision::Open, &State::Value(value)) => walk.decided(value).map_or(Decision::Open, Decision::Known),
        (decision, _) => decision,
    })
}

/// A number of iterations.
pub(super) fn count(walk: &Walk, symbol: SymbolId) -> Result<Decision<i64>, String> {
    let element = |tensor: &Tensor| tensor.to_i64()[0];
    decision(walk, symbol, ("64-bit integer", ElementType::I64), element)
}

fn decision<T>(
    walk: &Walk,
    symbol: SymbolId,
    (what, element): (&str, ElementType),
    value: impl FnOnce(&Tensor) -> T,
) -> Result<Decision<T>, String> {
    let Some(fact) = walk.fact(symbol) else { return Ok(Decision::Unknown) };
    let ty = fact.ty.as_tensor().filter(|ty| ty.element == element && ty.shape.checked_elements() == Some(1));
    if ty.is_none() {
        return Err(format!("a single {what} is needed, and {} is given", fact.ty));
    }
    Ok(fact.value.as_ref().map_or(Decision::Open, |tensor| Decision::Known(value(tensor))))
}
