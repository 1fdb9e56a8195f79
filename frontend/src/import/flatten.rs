//! Functions expanded: lists of nodes over symbols instead of names.

use std::collections::{BTreeMap, HashMap};

use warpweave_graph::arena::Arena;
use warpweave_graph::typed_id;

use super::error::ImportError;
use super::options::Limits;
use super::subgraph::{Environment, Scope, captured_names};
use crate::onnx::{AttributeProto, FunctionProto, ModelProto, NodeProto};

typed_id!(
    /// A named value of the model, functions and subgraphs expanded.
    SymbolId, "s"
);

/// A node of the model, of an expanded function or of an expanded subgraph.
#[derive(Clone, Debug)]
pub(super) struct FlatNode<'m> {
    pub(super) name: String,
    pub(super) domain: String,
    pub(super) operator: String,
    /// The version of the operator's domain; `None` if none is declared or assumed.
    pub(super) opset: Option<i64>,
    /// Names and values; in a function, a value may stand in the call under another name.
    pub(super) attributes: Vec<(&'m str, &'m AttributeProto)>,
    pub(super) inputs: Vec<Option<SymbolId>>,
    pub(super) outputs: Vec<Option<SymbolId>>,
    /// What the graphs among the attributes are read in; `None` where there are none.
    pub(super) environment: Option<Environment<'m>>,
}

impl FlatNode<'_> {
    /// What has to be known before the node: its inputs, and what its graphs read from outside.
    pub(super) fn reads(&self) -> impl Iterator<Item = SymbolId> {
        let captured = self.environment.iter().flat_map(|environment| environment.names.values());
        self.inputs.iter().chain(captured).flatten().copied()
    }
}

/// What expands lists of nodes: the model's functions, and the symbols and the number of nodes so far.
#[derive(Debug)]
pub(super) struct Flattening<'m> {
    /// The names, for people.
    pub(super) symbols: Arena<SymbolId, String>,
    functions: HashMap<(&'m str, &'m str), &'m FunctionProto>,
    nodes: usize,
    limits: Limits,
    /// Functions that were expanded.
    calls: usize,
    /// Bytes of all names.
    name_bytes: u64,
}

/// A list of nodes that is being expanded.
struct Frame<'m> {
    nodes: &'m [NodeProto],
    next: usize,
    environment: Environment<'m>,
    /// The name of the node that is expanded, for names inside.
    prefix: String,
}

impl<'m> Flattening<'m> {
    /// Nothing expanded yet.
    pub(super) fn new(model: &'m ModelProto, limits: &Limits) -> Self {
        let functions = model
            .functions
            .iter()
            .map(|function| ((canonical(&function.domain), function.name.as_str()), function))
            .collect();
        Self { symbols: Arena::new(), functions, nodes: 0, limits: *limits, calls: 0, name_bytes: 0 }
    }

    /// A new symbol.
    pub(super) fn symbol(&mut self, prefix: &str, name: &str) -> SymbolId {
        self.symbols.push(joined(prefix, name))
    }

    /// The nodes with all functions expanded; `environment` has what they may read from outside, and gets what they name.
    pub(super) fn expand_all(
        &mut self,
        nodes: &'m [NodeProto],
        environment: Environment<'m>,
        prefix: &str,
    ) -> Result<(Vec<FlatNode<'m>>, Scope<'m>), ImportError> {
        let mut flat = Vec::new();
        let mut frames = vec![Frame { nodes, next: 0, environment, prefix: prefix.to_owned() }];
        loop {
            let depth = frames.len();
            let Some(frame) = frames.last_mut() else { return Ok((flat, Scope::new())) };
            let Some(node) = frame.nodes.get(frame.next) else {
                let ended = frames.pop().map(|frame| frame.environment.names);
                match ended {
                    Some(names) if depth == 1 => return Ok((flat, names)),
                    _ => continue,
                }
            };
            frame.next += 1;
            let before = flat.len();
            let inner = self.expand(node, frame, &mut flat)?;
            frames.extend(inner);
            if frames.len() > self.limits.function_depth {
                let (culprit, limit) = (node.op_type.clone(), self.limits.function_depth as u64);
                return Err(ImportError::Limit { culprit, what: "function depth", limit });
            }
            self.nodes += flat.len() - before;
            if self.nodes > self.limits.nodes {
                let (culprit, limit) = ("model".to_owned(), self.limits.nodes as u64);
                return Err(ImportError::Limit { culprit, what: "number of nodes", limit });
            }
        }
    }

    /// Appends a node, or returns the frame of the function that it applies.
    fn expand(
        &mut self,
        node: &'m NodeProto,
        frame: &mut Frame<'m>,
        flat: &mut Vec<FlatNode<'m>>,
    ) -> Result<Option<Frame<'m>>, ImportError> {
        let inputs = self.resolve_all(&node.input, frame)?;
        let outputs = self.resolve_all(&node.output, frame)?;
        let attributes = node.attribute.iter().filter_map(|attribute| {
            let value = match attribute.ref_attr_name.as_str() {
                "" => attribute,
                name => frame.environment.attributes.get(name)?,
            };
            Some((attribute.name.as_str(), value))
        });
        let attributes: Vec<(&str, &AttributeProto)> = attributes.collect();
        let first_output = || node.output.iter().find(|name| !name.is_empty());
        let own = if node.name.is_empty() { first_output().map_or("", String::as_str) } else { &node.name };
        self.charge(frame.prefix.len() + 1 + own.len() + node.domain.len() + node.op_type.len())?;
        let name = joined(&frame.prefix, own);
        let domain = canonical(&node.domain);
        let Some(&function) = self.functions.get(&(domain, node.op_type.as_str())) else {
            let opset = frame.environment.opsets.iter().find(|opset| canonical(&opset.domain) == domain);
            let (domain, operator) = (domain.to_owned(), node.op_type.clone());
            let opset = opset.map(|opset| opset.version).or_else(|| assumed(&domain));
            let environment = self.captured(node, frame)?;
            flat.push(FlatNode { name, domain, operator, opset, attributes, inputs, outputs, environment });
            return Ok(None);
        };
        self.calls += 1;
        if self.calls > self.limits.function_calls {
            let limit = self.limits.function_calls as u64;
            return Err(ImportError::Limit { culprit: node.op_type.clone(), what: "number of function calls", limit });
        }
        if inputs.len() > function.input.len() || outputs.len() > function.output.len() {
            return Err(ImportError::invalid(name, "more inputs or outputs than the function has"));
        }
        let mut scope = Scope::new();
        for (position, formal) in function.input.iter().enumerate() {
            scope.insert(formal.as_str(), inputs.get(position).copied().flatten());
        }
        for (formal, &actual) in function.output.iter().zip(&outputs) {
            let Some(actual) = actual else { continue };
            match scope.get(formal.as_str()) {
                None => {
                    scope.insert(formal, Some(actual));
                }
                Some(&alias) => flat.push(FlatNode {
                    name: name.clone(),
                    domain: String::new(),
                    operator: "Identity".to_owned(),
                    opset: Some(13),
                    attributes: Vec::new(),
                    inputs: vec![alias],
                    outputs: vec![Some(actual)],
                    environment: None,
                }),
            }
        }
        let mut bound: BTreeMap<&str, &AttributeProto> =
            function.attribute_proto.iter().map(|default| (default.name.as_str(), default)).collect();
        let formals = function.attribute.iter().chain(function.attribute_proto.iter().map(|default| &default.name));
        for formal in formals {
            if let Some((_, actual)) = attributes.iter().find(|(name, _)| name == formal) {
                bound.insert(formal, actual);
            }
        }
        let opsets = if function.opset_import.is_empty() { frame.environment.opsets } else { &function.opset_import };
        let environment = Environment { names: scope, opsets, attributes: bound };
        Ok(Some(Frame { nodes: &function.node, next: 0, environment, prefix: name }))
    }

    /// What the graphs of a node are read in, if it has some: what they read from outside, and no more.
    fn captured(&mut self, node: &'m NodeProto, frame: &mut Frame<'m>) -> Result<Option<Environment<'m>>, ImportError> {
        let graphs: Vec<_> = node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()).collect();
        if graphs.is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = graphs.into_iter().flat_map(captured_names).collect();
        let names = names.into_iter().map(|name| Ok((name, self.resolve(name, frame)?)));
        let names = names.collect::<Result<Scope<'m>, ImportError>>()?;
        let Environment { opsets, attributes, .. } = &frame.environment;
        Ok(Some(Environment { names, opsets, attributes: attributes.clone() }))
    }

    /// The symbols of a node's inputs or outputs, without those that are left out at the end.
    fn resolve_all(
        &mut self,
        names: &'m [String],
        frame: &mut Frame<'m>,
    ) -> Result<Vec<Option<SymbolId>>, ImportError> {
        let symbols = names.iter().map(|name| self.resolve(name, frame));
        let mut symbols = symbols.collect::<Result<Vec<_>, ImportError>>()?;
        while symbols.last() == Some(&None) {
            symbols.pop();
        }
        Ok(symbols)
    }

    fn resolve(&mut self, name: &'m str, frame: &mut Frame<'m>) -> Result<Option<SymbolId>, ImportError> {
        if name.is_empty() {
            return Ok(None);
        }
        if let Some(&known) = frame.environment.names.get(name) {
            return Ok(known);
        }
        self.charge(frame.prefix.len() + 1 + name.len())?;
        let symbol = Some(self.symbols.push(joined(&frame.prefix, name)));
        frame.environment.names.insert(name, symbol);
        Ok(symbol)
    }

    /// Counts the bytes of a name that is about to be made.
    fn charge(&mut self, bytes: usize) -> Result<(), ImportError> {
        self.name_bytes = self.name_bytes.saturating_add(bytes as u64);
        if self.name_bytes > self.limits.name_bytes {
            let (culprit, what) = ("model".to_owned(), "bytes of all names, functions expanded,");
            return Err(ImportError::Limit { culprit, what, limit: self.limits.name_bytes });
        }
        Ok(())
    }
}

/// The domain under one of its names: the default one is empty.
fn canonical(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// Domains of which ONNX Runtime takes this version where a model declares none, as its own tools write models.
const ASSUMED: [(&str, i64); 2] = [("com.microsoft", 1), ("ai.onnx.ml", 5)];

fn assumed(domain: &str) -> Option<i64> {
    ASSUMED.iter().find(|(known, _)| *known == domain).map(|(_, version)| *version)
}

/// A name inside what the prefix names.
fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
}
