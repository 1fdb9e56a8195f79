//! Graphs inside nodes, and what they read from outside.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::flatten::SymbolId;
use crate::onnx::{AttributeProto, GraphProto, OperatorSetIdProto};

/// The symbols of names; `None` stands for an operand of a function that is left out.
pub(super) type Scope<'m> = BTreeMap<&'m str, Option<SymbolId>>;

/// What a list of nodes is read in.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment<'m> {
    /// The symbols of names.
    pub(super) names: Scope<'m>,
    pub(super) opsets: &'m [OperatorSetIdProto],
    /// Values of the attributes of the function that the nodes stand in.
    pub(super) attributes: BTreeMap<&'m str, &'m AttributeProto>,
}

/// The names that a graph reads and does not define. The depth of graphs is bounded by the file format's decoder.
pub(super) fn captured_names(graph: &GraphProto) -> BTreeSet<&str> {
    let mut read: BTreeSet<&str> = graph.output.iter().map(|output| output.name.as_str()).collect();
    for node in &graph.node {
        read.extend(node.input.iter().map(String::as_str));
        read.extend(node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()).flat_map(captured_names));
    }
    let mut defined: HashSet<&str> = graph.node.iter().flat_map(|node| &node.output).map(String::as_str).collect();
    defined.extend(graph.input.iter().map(|input| input.name.as_str()));
    defined.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
    read.retain(|name| !name.is_empty() && !defined.contains(name));
    read
}
