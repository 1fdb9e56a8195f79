//! Graphs to tensor programs: every node's operator writes its expressions.

use crate::arena::Arena;
use crate::ir::{Graph, Node, Origin as ValueOrigin, ValueId};
use crate::ops::Context;
use crate::program::{Differentiable, Origin, Origins, Phase, ProgramBuilder, TensorId, TensorProgram};

/// The program that computes a graph's outputs from its inputs.
///
/// Every statement names the node that it comes from. Statements and constants that no output depends on are left out.
///
/// # Panics
/// If the graph is not valid: a value that is read is no tensor, or a node's operator does not accept its inputs.
pub fn lower(graph: &Graph) -> TensorProgram {
    lower_differentiable(graph).program.pruned()
}

/// The same with who is handed the gradients of its extremes, and with all statements of its nodes.
///
/// # Panics
/// If the graph is not valid, as [`lower`].
pub fn lower_differentiable(graph: &Graph) -> Differentiable {
    let mut lowering =
        Lowering { graph, program: ProgramBuilder::new(), tensors: graph.values.ids().map(|_| None).collect() };
    for &input in &graph.inputs {
        let ty = graph.values[input].ty.as_tensor().expect("a lowered graph has tensors as inputs");
        let tensor = lowering.program.input(ty.clone());
        lowering.bind(input, tensor);
    }
    for node in graph.nodes.values() {
        lowering.node(node);
    }
    let outputs = graph.outputs.iter().map(|output| lowering.tensor(output.value)).collect();
    let names = graph.outputs.iter().map(|output| output.name.clone());
    lowering.program.names().outputs = names.enumerate().collect();
    lowering.program.finish_differentiable(outputs)
}

struct Lowering<'g> {
    graph: &'g Graph,
    program: ProgramBuilder,
    tensors: Arena<ValueId, Option<TensorId>>,
}

impl Lowering<'_> {
    fn node(&mut self, node: &Node) {
        let result = node.outputs.first().map(|&output| self.graph.values[output].name.clone());
        let (operator, name) = (node.op.name().to_owned(), node.name.clone());
        let origin = Origin { phase: Phase::Forward, operator, name, result: result.unwrap_or_default() };
        let origin = self.program.names().origins.push(origin);
        self.program.set_origins(Origins::from([origin]));
        let facts = self.graph.facts(&node.inputs);
        let context = Context::new(&facts, node.outputs.len());
        let inputs: Vec<Option<TensorId>> =
            node.inputs.iter().map(|input| input.map(|input| self.tensor(input))).collect();
        let outputs = node.op.lower(&context, &inputs, &mut self.program);
        assert!(outputs.len() >= node.outputs.len(), "an operator lowers to one tensor an output");
        for (&value, output) in node.outputs.iter().zip(outputs) {
            self.bind(value, output);
        }
    }

    /// The tensor of a value that is defined; a constant's or a variable's is declared when it is first read.
    fn tensor(&mut self, value: ValueId) -> TensorId {
        if self.tensors[value].is_none() {
            let tensor = match &self.graph.values[value].origin {
                ValueOrigin::Constant(constant) => Some(self.program.constant(constant.clone())),
                ValueOrigin::Variable(initial) => Some(self.program.state(initial.clone())),
                ValueOrigin::Input(_) | ValueOrigin::Node(..) => None,
            };
            tensor.into_iter().for_each(|tensor| self.bind(value, tensor));
        }
        self.tensors[value].expect("nodes stand in topological order")
    }

    /// Makes a tensor that of a value, whose name it has if it has none yet.
    fn bind(&mut self, value: ValueId, tensor: TensorId) {
        self.tensors[value] = Some(tensor);
        let name = &self.graph.values[value].name;
        if !name.is_empty() {
            self.program.names().tensors.entry(tensor).or_insert_with(|| name.clone());
        }
    }
}
