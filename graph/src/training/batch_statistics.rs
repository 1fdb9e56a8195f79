//! Batch normalisation by the statistics of the batch, and running statistics by PyTorch's rule.

use crate::arena::Id;
use crate::expr::{BinaryOp, Scalar};
use crate::ir::{Graph, GraphOutput, NodeId, Origin, Value, ValueId};
use crate::ops::{Op, compose};
use crate::program::{ProgramBuilder, TensorId};

/// How much of a running statistic the batch replaces.
const MOMENTUM: f64 = 0.1;

/// A running statistic and what it is of a batch.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RunningStatistic {
    /// The graph's name of it.
    pub name: String,
    /// The position of the batch's own statistic among the graph's outputs.
    pub output: usize,
    /// What the batch's own statistic is multiplied by.
    pub factor: f64,
}

/// The graph with batch normalisations whose statistics are variables in training mode; the statistics of the batch become
/// outputs behind all others.
pub(super) fn in_training(graph: &Graph) -> (Graph, Vec<RunningStatistic>) {
    let mut training = graph.clone();
    let mut statistics = Vec::new();
    for id in graph.nodes.ids() {
        let node = &graph.nodes[id];
        let variable = |input: usize| {
            let value = behind_identities(graph, node.inputs.get(input).copied().flatten()?);
            matches!(graph.values[value].origin, Origin::Variable(_)).then_some(value)
        };
        let (Op::BatchNormalization(normalization), Some(mean), Some(variance)) = (&node.op, variable(3), variable(4))
        else {
            continue;
        };
        if normalization.momentum.is_some() {
            continue;
        }
        let mut normalization = normalization.clone();
        // Nothing of what was before stays in the outputs: they are the batch's own.
        normalization.momentum = Some(0.0);
        training.nodes[id].op = Op::BatchNormalization(normalization);
        let data = node.inputs.first().copied().flatten().and_then(|value| graph.values[value].ty.as_tensor());
        let count = data.map_or(1, |data| data.shape.elements() / data.shape.get(1).copied().unwrap_or(1).max(1));
        let unbiased = count as f64 / (count as f64 - 1.0).max(1.0);
        for (position, (running, factor)) in [(1, (mean, 1.0)), (2, (variance, unbiased))] {
            let output = own_statistic(&mut training, id, position, running);
            statistics.push(RunningStatistic { name: graph.values[running].name.clone(), output, factor });
        }
    }
    (training, statistics)
}

/// The value to which identities have given further names.
fn behind_identities(graph: &Graph, mut value: ValueId) -> ValueId {
    while let Origin::Node(node, _) = graph.values[value].origin
        && let Op::Identity(_) = graph.nodes[node].op
        && let Some(same) = graph.nodes[node].inputs.first().copied().flatten()
    {
        value = same;
    }
    value
}

/// Adds an output of a node that the graph gives, too; its position among those.
fn own_statistic(graph: &mut Graph, node: NodeId, position: usize, running: ValueId) -> usize {
    let ty = graph.values[running].ty.clone();
    let name = format!("{} of the batch", graph.values[running].name);
    let value = graph.values.push(Value { name: name.clone(), ty, origin: Origin::Node(node, position) });
    debug_assert_eq!(value.index() + 1, graph.values.len());
    graph.nodes[node].outputs.push(value);
    graph.outputs.push(GraphOutput { name, value });
    graph.outputs.len() - 1
}

/// Appends what becomes of a running statistic.
pub(super) fn update(
    program: &mut ProgramBuilder,
    statistic: &RunningStatistic,
    running: TensorId,
    own: TensorId,
) -> TensorId {
    let element = program.ty(running).element;
    let literal = |value: f64| Scalar::literal(element, value);
    compose::map(program, [running, own], element, |[running, own]| {
        let fresh = own.binary(BinaryOp::Multiply, literal(MOMENTUM * statistic.factor));
        running.binary(BinaryOp::Multiply, literal(1.0 - MOMENTUM)).binary(BinaryOp::Add, fresh)
    })
}
