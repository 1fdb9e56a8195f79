//! Graphs of operators: an arena of nodes in topological order, with ordered inputs and outputs.

use crate::arena::{Arena, Id};
use crate::counted::CountedOutput;
use crate::ops::{Fact, Op};
use crate::tensor::Tensor;
use crate::typed_id;
use crate::types::ValueType;

typed_id!(
    /// A value of a graph.
    ValueId, "v"
);
typed_id!(
    /// A node of a graph.
    NodeId, "n"
);

/// Where a value comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Origin {
    /// The caller, or the model with this default where the caller gives nothing.
    Input(Option<Tensor>),
    /// The model.
    Constant(Tensor),
    /// The model, at first: a training step changes it.
    Variable(Tensor),
    /// An output of a node, by position.
    Node(NodeId, usize),
}

/// A value of a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// The name in the model; for people, never for lookup.
    pub name: String,
    pub ty: ValueType,
    /// Where it comes from.
    pub origin: Origin,
}

/// An operator applied to values.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The name in the model; for people, never for lookup.
    pub name: String,
    /// The operator with its attributes.
    pub op: Op,
    /// The inputs in order; `None` where an optional one is left out.
    pub inputs: Vec<Option<ValueId>>,
    /// The outputs in order.
    pub outputs: Vec<ValueId>,
}

/// What the caller gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphOutput {
    /// The name that the model gives the output, which may differ from its value's: several outputs may be one value.
    pub name: String,
    pub value: ValueId,
}

/// A graph. Nodes stand in topological order: a node reads inputs, constants and outputs of earlier nodes only.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// The name in the model.
    pub name: String,
    pub values: Arena<ValueId, Value>,
    /// All nodes, in topological order.
    pub nodes: Arena<NodeId, Node>,
    /// What the caller provides, in order.
    pub inputs: Vec<ValueId>,
    /// What the caller gets, in order, and behind it how many elements of that count.
    pub outputs: Vec<GraphOutput>,
    /// The outputs whose extents depend on data.
    pub counted: Vec<CountedOutput>,
}

impl Graph {
    /// An empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Declares the next input.
    pub fn input(&mut self, name: impl Into<String>, ty: ValueType) -> ValueId {
        self.declare(Value { name: name.into(), ty, origin: Origin::Input(None) })
    }

    /// Declares the next input, which need not be given: it is `default` then.
    pub fn input_with_default(&mut self, name: impl Into<String>, default: Tensor) -> ValueId {
        let ty = default.ty().clone().into();
        self.declare(Value { name: name.into(), ty, origin: Origin::Input(Some(default)) })
    }

    fn declare(&mut self, input: Value) -> ValueId {
        let id = self.values.push(input);
        self.inputs.push(id);
        id
    }

    /// Adds a constant.
    pub fn constant(&mut self, name: impl Into<String>, value: Tensor) -> ValueId {
        let ty = value.ty().clone().into();
        self.values.push(Value { name: name.into(), ty, origin: Origin::Constant(value) })
    }

    /// Adds a tensor that a training step changes, with what it is at first.
    pub fn variable(&mut self, name: impl Into<String>, initial: Tensor) -> ValueId {
        let ty = initial.ty().clone().into();
        self.values.push(Value { name: name.into(), ty, origin: Origin::Variable(initial) })
    }

    /// Appends a node whose outputs have the given names and types, as its inference returned them.
    pub fn node(
        &mut self,
        name: impl Into<String>,
        op: Op,
        inputs: Vec<Option<ValueId>>,
        outputs: Vec<(String, ValueType)>,
    ) -> NodeId {
        let id = NodeId::from_index(self.nodes.len());
        let outputs = outputs.into_iter().enumerate().map(|(position, (name, ty))| {
            let origin = Origin::Node(id, position);
            self.values.push(Value { name, ty, origin })
        });
        let outputs = outputs.collect();
        self.nodes.push(Node { name: name.into(), op, inputs, outputs })
    }

    /// Declares the next output under the name of its value.
    pub fn output(&mut self, value: ValueId) {
        self.outputs.push(GraphOutput { name: self.values[value].name.clone(), value });
    }

    /// The value's tensor, if it is a constant.
    pub fn constant_value(&self, value: ValueId) -> Option<&Tensor> {
        match &self.values[value].origin {
            Origin::Constant(tensor) => Some(tensor),
            Origin::Input(_) | Origin::Variable(_) | Origin::Node(..) => None,
        }
    }

    /// What is known of each input of a node.
    pub fn facts(&self, inputs: &[Option<ValueId>]) -> Vec<Option<Fact>> {
        let fact = |id: ValueId| Fact { ty: self.values[id].ty.clone(), value: self.constant_value(id).cloned() };
        inputs.iter().map(|input| input.map(fact)).collect()
    }
}
