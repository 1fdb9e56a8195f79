//! Graphs to text.

use std::fmt::Write;

use super::literal;
use super::{ContentHash, Tensors};
use crate::arena::Arena;
use crate::counted::CountedOutput;
use crate::ir::{Graph, GraphOutput, Node, NodeId, Origin, Value, ValueId};
use crate::ops::Attribute;
use crate::tensor::Tensor;

/// The graph as text.
pub fn print(graph: &Graph) -> String {
    let mut text = format!("graph {:?}\n", graph.name);
    let mut next: Option<NodeId> = None;
    for (id, value) in graph.values.iter() {
        let line = match &value.origin {
            Origin::Input(None) => format!("{} = input", declared(id, value)),
            Origin::Input(Some(default)) => format!("{} = input {}", declared(id, value), constant(default)),
            Origin::Constant(tensor) => format!("{} = constant {}", declared(id, value), constant(tensor)),
            Origin::Variable(tensor) => format!("{} = variable {}", declared(id, value), constant(tensor)),
            Origin::Node(node, _) if next == Some(*node) => continue,
            Origin::Node(node, _) => {
                next = Some(*node);
                node_line(&graph.values, &graph.nodes[*node])
            }
        };
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(format!("input {}", list(&graph.inputs)).trim_end());
    text.push('\n');
    let outputs: Vec<String> = graph.outputs.iter().map(|output| named(graph, output)).collect();
    text.push_str(format!("output {}", outputs.join(", ")).trim_end());
    text.push('\n');
    for CountedOutput { output, dimension, count } in &graph.counted {
        let _ = writeln!(text, "counted {output}, {dimension}, {count}");
    }
    text
}

/// An output, with its name where that is not its value's.
fn named(graph: &Graph, output: &GraphOutput) -> String {
    let GraphOutput { name, value } = output;
    let own = graph.values.get(*value).map(|value| value.name.as_str());
    if own == Some(name.as_str()) { value.to_string() } else { format!("{value} {name:?}") }
}

/// The tensors that the text of a graph names by their hash.
pub fn tensors(graph: &Graph) -> Tensors {
    let mut tensors = Tensors::new();
    let mut add = |tensor: &Tensor| {
        if !literal::is_inline(tensor) {
            tensors.insert(ContentHash::of(tensor), tensor.clone());
        }
    };
    for value in graph.values.values() {
        match &value.origin {
            Origin::Input(Some(tensor)) | Origin::Constant(tensor) | Origin::Variable(tensor) => add(tensor),
            Origin::Input(None) | Origin::Node(..) => {}
        }
    }
    for (_, attribute) in graph.nodes.values().flat_map(|node| node.op.attributes()) {
        if let Attribute::Tensor(tensor) = &attribute {
            add(tensor);
        }
    }
    tensors
}

fn declared(id: ValueId, value: &Value) -> String {
    format!("{id} {:?}: {}", value.name, value.ty)
}

fn node_line(values: &Arena<ValueId, Value>, node: &Node) -> String {
    let outputs: Vec<String> = node.outputs.iter().map(|&id| declared(id, &values[id])).collect();
    let input = |input: &Option<ValueId>| input.map_or_else(|| "_".to_owned(), |id| id.to_string());
    let inputs: Vec<String> = node.inputs.iter().map(input).collect();
    let domain = if node.op.domain().is_empty() { String::new() } else { format!("{}:", node.op.domain()) };
    let name = node.op.name();
    let mut line = format!("{} = {domain}{name} {:?} ({})", outputs.join(", "), node.name, inputs.join(", "));
    let attributes = node.op.attributes();
    if !attributes.is_empty() {
        let attributes = attributes.iter().map(|(name, value)| format!("{name} = {}", attribute(value)));
        let _ = write!(line, " {{{}}}", attributes.collect::<Vec<_>>().join(", "));
    }
    line
}

fn attribute(value: &Attribute) -> String {
    match value {
        Attribute::Int(value) => format!("int {value}"),
        Attribute::Float(value) => format!("float {value:?}"),
        Attribute::String(value) => format!("string {value:?}"),
        Attribute::Tensor(value) => format!("tensor {} {}", value.ty(), constant(value)),
        Attribute::Ints(values) => format!("ints {values:?}"),
        Attribute::Floats(values) => format!("floats {values:?}"),
        Attribute::Strings(values) => format!("strings {values:?}"),
    }
}

fn constant(tensor: &Tensor) -> String {
    if literal::is_inline(tensor) { literal::print(tensor) } else { format!("#{}", ContentHash::of(tensor)) }
}

fn list(values: &[ValueId]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
