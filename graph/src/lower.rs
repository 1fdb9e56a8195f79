//! Graphs to tensor programs: every node's operator writes its expressions.

use crate::arena::Arena;
use crate::ir::{Graph, Origin, ValueId};
use crate::ops::Context;
use crate::program::{ProgramBuilder, TensorId, TensorProgram};

/// The program that computes a graph's outputs from its inputs.
///
/// Every statement names the node that it comes from. Statements and constants that no output depends on are left out.
///
/// # Panics
/// If the graph is not valid: a value that is read is no tensor, or a node's operator does not accept its inputs.
pub fn lower(graph: &Graph) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let mut tensors: Arena<ValueId, Option<TensorId>> = graph.values.ids().map(|_| None).collect();
    for &input in &graph.inputs {
        let ty = graph.values[input].ty.as_tensor().expect("a lowered graph has tensors as inputs");
        tensors[input] = Some(program.input(ty.clone()));
    }
    let tensor = |value: ValueId, program: &mut ProgramBuilder, tensors: &mut Arena<ValueId, Option<TensorId>>| {
        if tensors[value].is_none()
            && let Origin::Constant(constant) = &graph.values[value].origin
        {
            tensors[value] = Some(program.constant(constant.clone()));
        }
        tensors[value].expect("nodes stand in topological order")
    };
    for (id, node) in graph.nodes.iter() {
        program.set_origin(Some(id));
        let facts = graph.facts(&node.inputs);
        let context = Context::new(&facts, node.outputs.len());
        let inputs: Vec<Option<TensorId>> =
            node.inputs.iter().map(|input| input.map(|input| tensor(input, &mut program, &mut tensors))).collect();
        let outputs = node.op.lower(&context, &inputs, &mut program);
        assert!(outputs.len() >= node.outputs.len(), "an operator lowers to one tensor an output");
        for (&value, output) in node.outputs.iter().zip(outputs) {
            tensors[value] = Some(output);
        }
    }
    let outputs = graph.outputs.iter().map(|output| tensor(output.value, &mut program, &mut tensors)).collect();
    program.finish(outputs).pruned()
}
