//! Changes of graphs as data: passes return patches, and one function applies them.

use std::collections::BTreeMap;

use crate::arena::Arena;
use crate::ir::{Graph, GraphOutput, Node, NodeId, Origin, ValueId};
use crate::ops::{Context, Op};
use crate::tensor::Tensor;
use crate::types::ValueType;

/// A change of one node.
#[derive(Clone, PartialEq, Debug)]
pub struct Patch {
    /// The pass that wants it.
    pub pass: &'static str,
    pub node: NodeId,
    /// What stands in its place.
    pub replacement: Replacement,
}

/// What stands in the place of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Replacement {
    /// Nothing: no output is read.
    Nothing,
    /// Values that are defined before the node, one an output.
    Values(Vec<ValueId>),
    /// Constants, one an output.
    Constants(Vec<Tensor>),
    /// Another node with as many outputs of the same types.
    Node {
        op: Op,
        /// The inputs, defined before the node.
        inputs: Vec<Option<Operand>>,
    },
}

/// An input of a node that a patch puts in.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// A value of the graph.
    Value(ValueId),
    /// A new constant.
    Constant(Tensor),
}

/// The graph with patches applied. Of several patches of one node, the first counts. Constants that nothing reads are
/// left out.
pub fn apply(graph: &Graph, patches: &[Patch]) -> Graph {
    let mut chosen: BTreeMap<NodeId, &Replacement> = BTreeMap::new();
    for patch in patches {
        chosen.entry(patch.node).or_insert(&patch.replacement);
    }
    let mut rebuild = Rebuild::new(graph);
    for (id, node) in graph.nodes.iter() {
        match chosen.get(&id) {
            None => {
                let inputs = node.inputs.iter().map(|input| input.map(|input| rebuild.value(input))).collect();
                rebuild.node(node, node.op.clone(), inputs);
            }
            Some(Replacement::Nothing) => {}
            Some(Replacement::Values(values)) => {
                for (&output, &value) in node.outputs.iter().zip(values) {
                    rebuild.renamed[output] = Some(rebuild.value(value));
                }
            }
            Some(Replacement::Constants(tensors)) => {
                for (&output, tensor) in node.outputs.iter().zip(tensors) {
                    let name = graph.values[output].name.clone();
                    rebuild.pending[output] = Some((name, tensor.clone()));
                }
            }
            Some(Replacement::Node { op, inputs }) => {
                let inputs = inputs.iter().map(|input| {
                    input.as_ref().map(|operand| match operand {
                        Operand::Value(value) => rebuild.value(*value),
                        Operand::Constant(tensor) => rebuild.graph.constant(node.name.clone(), tensor.clone()),
                    })
                });
                let inputs = inputs.collect();
                rebuild.node(node, op.clone(), inputs);
            }
        }
    }
    for GraphOutput { name, value } in &graph.outputs {
        let value = rebuild.value(*value);
        rebuild.graph.outputs.push(GraphOutput { name: name.clone(), value });
    }
    rebuild.graph
}

/// A graph that is copied in order.
struct Rebuild<'g> {
    old: &'g Graph,
    graph: Graph,
    /// The new ids of values that are copied.
    renamed: Arena<ValueId, Option<ValueId>>,
    /// Constants that take the place of values, once they are read.
    pending: Arena<ValueId, Option<(String, Tensor)>>,
}

impl<'g> Rebuild<'g> {
    fn new(old: &'g Graph) -> Self {
        let mut graph = Graph { counted: old.counted.clone(), ..Graph::new(old.name.clone()) };
        let mut renamed: Arena<ValueId, Option<ValueId>> = old.values.ids().map(|_| None).collect();
        for &input in &old.inputs {
            let value = &old.values[input];
            let default = match &value.origin {
                Origin::Input(default) => default.clone(),
                Origin::Constant(_) | Origin::Variable(_) | Origin::Node(..) => None,
            };
            renamed[input] = Some(match default {
                Some(default) => graph.input_with_default(value.name.clone(), default),
                None => graph.input(value.name.clone(), value.ty.clone()),
            });
        }
        Self { old, graph, renamed, pending: old.values.ids().map(|_| None).collect() }
    }

    /// The new id of a value; constants are copied when they are first asked for.
    fn value(&mut self, id: ValueId) -> ValueId {
        if let Some(renamed) = self.renamed[id] {
            return renamed;
        }
        let value = &self.old.values[id];
        let new = match (&self.pending[id], &value.origin) {
            (Some((name, tensor)), _) => self.graph.constant(name.clone(), tensor.clone()),
            (None, Origin::Constant(tensor)) => self.graph.constant(value.name.clone(), tensor.clone()),
            (None, Origin::Variable(tensor)) => self.graph.variable(value.name.clone(), tensor.clone()),
            (None, Origin::Input(_) | Origin::Node(..)) => unreachable!("{id} is read before it is defined"),
        };
        self.renamed[id] = Some(new);
        new
    }

    fn node(&mut self, old: &Node, op: Op, inputs: Vec<Option<ValueId>>) {
        let facts = self.graph.facts(&inputs);
        let inferred = op.infer(&Context::new(&facts, old.outputs.len())).unwrap_or_default();
        let declared = old.outputs.iter().enumerate().map(|(position, &output)| {
            let value = &self.old.values[output];
            let ty: ValueType = inferred.get(position).unwrap_or(&value.ty).clone();
            (value.name.clone(), ty)
        });
        let declared = declared.collect();
        let id = self.graph.node(old.name.clone(), op, inputs, declared);
        for (&old, &new) in old.outputs.iter().zip(&self.graph.nodes[id].outputs) {
            self.renamed[old] = Some(new);
        }
    }
}
