//! Checks what holds of every valid graph, and reports what does not as data.

use std::fmt;

use crate::arena::Id;
use crate::ir::{Graph, Node, NodeId, Origin, ValueId};
use crate::ops::Context;
use crate::types::ValueType;

/// Something that does not hold of a graph.
#[derive(Clone, PartialEq, Debug)]
pub enum Violation {
    /// A node reads a value that does not exist.
    UnknownInput(NodeId, ValueId),
    /// A node reads a value of itself or of a later node.
    Order(NodeId, ValueId),
    /// A node names an output that does not exist, or that says it comes from elsewhere.
    Output(NodeId, ValueId),
    /// A value says that it comes from a node that does not name it.
    Origin(ValueId),
    /// A value says that it is an input and is not among the graph's inputs exactly once, or the other way round.
    Input(ValueId),
    /// A constant is not of the type that its value declares.
    Constant(ValueId),
    /// The graph's outputs name a value that does not exist.
    UnknownOutput(ValueId),
    /// An operator does not accept its inputs.
    Refused {
        node: NodeId,
        /// What inference says.
        reason: String,
    },
    /// A value is not of the type that inference finds.
    Type {
        value: ValueId,
        /// What the value declares.
        declared: ValueType,
        /// What inference finds; `None` where it finds no such output.
        inferred: Option<ValueType>,
    },
}

/// Everything that does not hold of a graph; empty for a valid one.
pub fn verify(graph: &Graph) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (id, value) in graph.values.iter() {
        let listed = graph.inputs.iter().filter(|&&input| input == id).count();
        match &value.origin {
            Origin::Input(_) if listed == 1 => {}
            Origin::Constant(_) | Origin::Variable(_) | Origin::Node(..) if listed == 0 => {}
            Origin::Input(_) | Origin::Constant(_) | Origin::Variable(_) | Origin::Node(..) => {
                violations.push(Violation::Input(id));
            }
        }
        match &value.origin {
            Origin::Input(None) => {}
            Origin::Input(Some(tensor)) | Origin::Constant(tensor) | Origin::Variable(tensor)
                if value.ty.as_tensor() == Some(tensor.ty()) => {}
            Origin::Input(Some(_)) | Origin::Constant(_) | Origin::Variable(_) => {
                violations.push(Violation::Constant(id))
            }
            Origin::Node(node, position) => {
                let named = graph.nodes.get(*node).and_then(|node| node.outputs.get(*position));
                if named != Some(&id) {
                    violations.push(Violation::Origin(id));
                }
            }
        }
    }
    let unknown_inputs = graph.inputs.iter().filter(|&&input| graph.values.get(input).is_none());
    violations.extend(unknown_inputs.map(|&input| Violation::Input(input)));
    for (id, node) in graph.nodes.iter() {
        check_node(graph, id, node, &mut violations);
    }
    let unknown_outputs = graph.outputs.iter().filter(|output| graph.values.get(output.value).is_none());
    violations.extend(unknown_outputs.map(|output| Violation::UnknownOutput(output.value)));
    violations
}

fn check_node(graph: &Graph, id: NodeId, node: &Node, violations: &mut Vec<Violation>) {
    let before = violations.len();
    for &input in node.inputs.iter().flatten() {
        match graph.values.get(input).map(|value| &value.origin) {
            None => violations.push(Violation::UnknownInput(id, input)),
            Some(Origin::Node(producer, _)) if producer.index() >= id.index() => {
                violations.push(Violation::Order(id, input));
            }
            Some(Origin::Input(_) | Origin::Constant(_) | Origin::Variable(_) | Origin::Node(..)) => {}
        }
    }
    for (position, &output) in node.outputs.iter().enumerate() {
        let origin = graph.values.get(output).map(|value| &value.origin);
        if origin != Some(&Origin::Node(id, position)) {
            violations.push(Violation::Output(id, output));
        }
    }
    if violations.len() > before {
        return;
    }
    let facts = graph.facts(&node.inputs);
    match node.op.infer(&Context::new(&facts, node.outputs.len())) {
        Err(error) => violations.push(Violation::Refused { node: id, reason: error.to_string() }),
        Ok(types) => {
            for (position, &value) in node.outputs.iter().enumerate() {
                let (declared, inferred) = (&graph.values[value].ty, types.get(position));
                if inferred != Some(declared) {
                    let (declared, inferred) = (declared.clone(), inferred.cloned());
                    violations.push(Violation::Type { value, declared, inferred });
                }
            }
        }
    }
}

impl Violation {
    /// The name in the model of the node or the value that this is about; empty if it has none.
    pub fn name(&self, graph: &Graph) -> String {
        let node = |id: NodeId| graph.nodes.get(id).map(|node| node.name.clone());
        let value = |id: ValueId| graph.values.get(id).map(|value| value.name.clone());
        let name = match self {
            Self::UnknownInput(id, _) | Self::Order(id, _) | Self::Output(id, _) => node(*id),
            Self::Refused { node: id, .. } => node(*id),
            Self::Origin(id) | Self::Input(id) | Self::Constant(id) | Self::UnknownOutput(id) => value(*id),
            Self::Type { value: id, .. } => value(*id),
        };
        name.unwrap_or_default()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownInput(node, value) => write!(f, "{node} reads {value}, which does not exist"),
            Self::Order(node, value) => write!(f, "{node} reads {value}, which is not defined before it"),
            Self::Output(node, value) => write!(f, "{node} defines {value}, which does not come from there"),
            Self::Origin(value) => write!(f, "{value} comes from a node that does not define it"),
            Self::Input(value) => write!(f, "{value} is not an input exactly once"),
            Self::Constant(value) => write!(f, "{value} is a constant or a default of another type"),
            Self::UnknownOutput(value) => write!(f, "output {value} does not exist"),
            Self::Refused { node, reason } => write!(f, "{node} is refused: {reason}"),
            Self::Type { value, declared, inferred: Some(inferred) } => {
                write!(f, "{value} is declared as {declared} and inferred as {inferred}")
            }
            Self::Type { value, declared, inferred: None } => {
                write!(f, "{value} is declared as {declared}, and inference finds no such output")
            }
        }
    }
}
