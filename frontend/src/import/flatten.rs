//! Functions expanded: one list of nodes over symbols instead of names.

use std::collections::HashMap;

use warpweave_graph::arena::Arena;
use warpweave_graph::typed_id;

use super::error::ImportError;
use super::options::Limits;
use crate::onnx::{AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto};

typed_id!(
    /// A named value of the model, functions expanded.
    SymbolId, "s"
);

/// A node of the model or of an expanded function.
#[derive(Clone, Debug)]
pub(super) struct FlatNode<'m> {
    pub(super) name: String,
    pub(super) domain: String,
    pub(super) operator: String,
    /// The version of the operator's domain; `None` if none is declared.
    pub(super) opset: Option<i64>,
    /// Names and values; in a function, a value may stand in the call under another name.
    pub(super) attributes: Vec<(&'m str, &'m AttributeProto)>,
    pub(super) inputs: Vec<Option<SymbolId>>,
    pub(super) outputs: Vec<Option<SymbolId>>,
}

/// The model's nodes with all functions expanded.
#[derive(Debug, Default)]
pub(super) struct Flat<'m> {
    pub(super) nodes: Vec<FlatNode<'m>>,
    /// The names, for people.
    pub(super) symbols: Arena<SymbolId, String>,
    /// The symbols of the main graph's names.
    pub(super) scope: HashMap<String, SymbolId>,
    /// Functions that were expanded.
    calls: usize,
    /// Bytes of all names.
    name_bytes: u64,
}

/// A list of nodes that is being expanded.
struct Frame<'m> {
    nodes: &'m [NodeProto],
    next: usize,
    scope: HashMap<&'m str, Option<SymbolId>>,
    opsets: &'m [OperatorSetIdProto],
    /// Values of the function's attributes.
    attributes: HashMap<&'m str, &'m AttributeProto>,
    /// The name of the node that is expanded, for names inside.
    prefix: String,
}

impl<'m> Flat<'m> {
    /// Expands the functions of a model.
    pub(super) fn new(model: &'m ModelProto, graph: &'m GraphProto, limits: &Limits) -> Result<Self, ImportError> {
        let functions: HashMap<(&str, &str), &FunctionProto> = model
            .functions
            .iter()
            .map(|function| ((canonical(&function.domain), function.name.as_str()), function))
            .collect();
        let mut flat = Self::default();
        let main = Frame {
            nodes: &graph.node,
            next: 0,
            scope: HashMap::new(),
            opsets: &model.opset_import,
            attributes: HashMap::new(),
            prefix: String::new(),
        };
        let mut frames = vec![main];
        while let Some(frame) = frames.last_mut() {
            let Some(node) = frame.nodes.get(frame.next) else {
                if frames.len() == 1 {
                    break;
                }
                frames.pop();
                continue;
            };
            frame.next += 1;
            let inner = flat.expand(node, frame, &functions, limits)?;
            frames.extend(inner);
            if frames.len() > limits.function_depth {
                let culprit = node.op_type.clone();
                return Err(ImportError::Limit {
                    culprit,
                    what: "function depth",
                    limit: limits.function_depth as u64,
                });
            }
            if flat.nodes.len() > limits.nodes {
                let culprit = "model".to_owned();
                return Err(ImportError::Limit { culprit, what: "number of nodes", limit: limits.nodes as u64 });
            }
        }
        if let Some(main) = frames.pop() {
            let named = main.scope.into_iter();
            flat.scope = named.filter_map(|(name, symbol)| Some((name.to_owned(), symbol?))).collect();
        }
        Ok(flat)
    }

    /// The symbol of a name of the main graph.
    pub(super) fn symbol(&mut self, name: &str) -> SymbolId {
        if let Some(&symbol) = self.scope.get(name) {
            return symbol;
        }
        let symbol = self.symbols.push(name.to_owned());
        self.scope.insert(name.to_owned(), symbol);
        symbol
    }

    /// Appends a node, or returns the frame of the function that it applies.
    fn expand(
        &mut self,
        node: &'m NodeProto,
        frame: &mut Frame<'m>,
        functions: &HashMap<(&str, &str), &'m FunctionProto>,
        limits: &Limits,
    ) -> Result<Option<Frame<'m>>, ImportError> {
        let inputs = self.resolve_all(&node.input, frame, limits)?;
        let outputs = self.resolve_all(&node.output, frame, limits)?;
        let attributes = node.attribute.iter().filter_map(|attribute| {
            let value = match attribute.ref_attr_name.as_str() {
                "" => attribute,
                name => frame.attributes.get(name)?,
            };
            Some((attribute.name.as_str(), value))
        });
        let attributes: Vec<(&str, &AttributeProto)> = attributes.collect();
        let first_output = || node.output.iter().find(|name| !name.is_empty());
        let own = if node.name.is_empty() { first_output().map_or("", String::as_str) } else { &node.name };
        self.charge(frame.prefix.len() + 1 + own.len() + node.domain.len() + node.op_type.len(), limits)?;
        let name = if frame.prefix.is_empty() { own.to_owned() } else { format!("{}/{own}", frame.prefix) };
        let domain = canonical(&node.domain);
        let Some(function) = functions.get(&(domain, node.op_type.as_str())) else {
            let opset = frame.opsets.iter().find(|opset| canonical(&opset.domain) == domain);
            let (domain, operator) = (domain.to_owned(), node.op_type.clone());
            let opset = opset.map(|opset| opset.version);
            self.nodes.push(FlatNode { name, domain, operator, opset, attributes, inputs, outputs });
            return Ok(None);
        };
        self.calls += 1;
        if self.calls > limits.function_calls {
            let limit = limits.function_calls as u64;
            return Err(ImportError::Limit { culprit: node.op_type.clone(), what: "number of function calls", limit });
        }
        if inputs.len() > function.input.len() || outputs.len() > function.output.len() {
            return Err(ImportError::invalid(name, "more inputs or outputs than the function has"));
        }
        let mut scope = HashMap::new();
        for (position, formal) in function.input.iter().enumerate() {
            scope.insert(formal.as_str(), inputs.get(position).copied().flatten());
        }
        for (formal, &actual) in function.output.iter().zip(&outputs) {
            let Some(actual) = actual else { continue };
            match scope.get(formal.as_str()) {
                None => {
                    scope.insert(formal, Some(actual));
                }
                Some(&alias) => self.nodes.push(FlatNode {
                    name: name.clone(),
                    domain: String::new(),
                    operator: "Identity".to_owned(),
                    opset: Some(13),
                    attributes: Vec::new(),
                    inputs: vec![alias],
                    outputs: vec![Some(actual)],
                }),
            }
        }
        let mut bound: HashMap<&str, &AttributeProto> =
            function.attribute_proto.iter().map(|default| (default.name.as_str(), default)).collect();
        let formals = function.attribute.iter().chain(function.attribute_proto.iter().map(|default| &default.name));
        for formal in formals {
            if let Some((_, actual)) = attributes.iter().find(|(name, _)| name == formal) {
                bound.insert(formal, actual);
            }
        }
        let opsets = if function.opset_import.is_empty() { frame.opsets } else { &function.opset_import };
        Ok(Some(Frame { nodes: &function.node, next: 0, scope, opsets, attributes: bound, prefix: name }))
    }

    /// The symbols of a node's inputs or outputs, without those that are left out at the end.
    fn resolve_all(
        &mut self,
        names: &'m [String],
        frame: &mut Frame<'m>,
        limits: &Limits,
    ) -> Result<Vec<Option<SymbolId>>, ImportError> {
        let symbols = names.iter().map(|name| self.resolve(name, frame, limits));
        let mut symbols = symbols.collect::<Result<Vec<_>, ImportError>>()?;
        while symbols.last() == Some(&None) {
            symbols.pop();
        }
        Ok(symbols)
    }

    fn resolve(
        &mut self,
        name: &'m str,
        frame: &mut Frame<'m>,
        limits: &Limits,
    ) -> Result<Option<SymbolId>, ImportError> {
        if name.is_empty() {
            return Ok(None);
        }
        if let Some(&known) = frame.scope.get(name) {
            return Ok(known);
        }
        let prefix = &frame.prefix;
        self.charge(prefix.len() + 1 + name.len(), limits)?;
        let full = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        let symbol = Some(self.symbols.push(full));
        frame.scope.insert(name, symbol);
        Ok(symbol)
    }

    /// Counts the bytes of a name that is about to be made.
    fn charge(&mut self, bytes: usize, limits: &Limits) -> Result<(), ImportError> {
        self.name_bytes = self.name_bytes.saturating_add(bytes as u64);
        if self.name_bytes > limits.name_bytes {
            let (culprit, what) = ("model".to_owned(), "bytes of all names, functions expanded,");
            return Err(ImportError::Limit { culprit, what, limit: limits.name_bytes });
        }
        Ok(())
    }
}

/// The domain under one of its names: the default one is empty.
fn canonical(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}
