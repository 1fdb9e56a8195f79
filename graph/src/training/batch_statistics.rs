//! Batch normalisation by the statistics of the batch, and running statistics by PyTorch's rule.

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::{BinaryOp, Scalar};
use crate::ir::{Graph, GraphOutput, Node, NodeId, Origin, Value, ValueId};
use crate::ops::normalizations::batch_normalization::{BatchNormalization, Parameters, Statistics};
use crate::ops::{Op, compose};
use crate::program::{ProgramBuilder, TensorId};

use super::error::TrainingError;

/// The inputs of a normalisation that are mean and variance; its outputs of these are one and two.
const STATISTICS: [usize; 2] = [3, 4];

/// A running statistic and what it is of a batch.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RunningStatistic {
    /// The graph's name of it.
    pub name: String,
    /// The position of the batch's own statistic among the graph's outputs.
    pub output: usize,
    /// How much of it stays.
    pub momentum: f64,
    /// What the batch's own statistic is multiplied by.
    pub factor: f64,
    /// The positions of conditions among the graph's outputs, scalars: it moves only where each is as is said here.
    pub gates: Vec<(usize, bool)>,
}

/// A value and the conditions of the gates behind which it is read.
#[derive(Clone, PartialEq, Debug)]
struct Read {
    value: ValueId,
    gates: Vec<(ValueId, bool)>,
}

/// The graph with batch normalisations whose statistics are variables in training mode; the statistics of the batch become
/// outputs behind all others.
pub(super) fn in_training(graph: &Graph) -> Result<(Graph, Vec<RunningStatistic>), TrainingError> {
    let mut training = graph.clone();
    let mut running = Vec::new();
    let mut places = BTreeSet::new();
    for id in graph.nodes.ids() {
        let Op::BatchNormalization(normalization) = &graph.nodes[id].op else { continue };
        let Some([mean, variance]) = running_statistics(graph, id)? else { continue };
        if reads_own_statistics(graph, id) {
            continue;
        }
        if normalization.parameters == Parameters::OfPlace {
            return Err(TrainingError::StatisticsOfPlaces(graph.nodes[id].name.clone()));
        }
        places.extend(STATISTICS.map(|input| (id, input)));
        // Nothing of what was before stays in the outputs: they are the batch's own.
        let own = BatchNormalization { momentum: 0.0, statistics: Statistics::OfBatch, ..normalization.clone() };
        training.nodes[id].op = Op::BatchNormalization(own);
        let momentum = f64::from(normalization.momentum);
        for (position, value, factor) in [(1, mean, 1.0), (2, variance, unbiased(graph, id))] {
            let Read { value, gates } = value;
            let output = own_statistic(&mut training, id, position, value);
            let gates =
                gates.into_iter().map(|(condition, wanted)| (condition_output(&mut training, condition), wanted));
            let (name, gates) = (graph.values[value].name.clone(), gates.collect());
            running.push(RunningStatistic { name, output, momentum, factor, gates });
        }
    }
    unshared(graph, &places)?;
    Ok((training, running))
}

/// Mean and variance of a normalisation, if it keeps them.
fn running_statistics(graph: &Graph, id: NodeId) -> Result<Option<[Read; 2]>, TrainingError> {
    let inputs = &graph.nodes[id].inputs;
    let values = STATISTICS.map(|input| inputs.get(input).copied().flatten());
    let [Some(mean), Some(variance)] = values.map(|value| value.map(|value| read_of(graph, value))) else {
        return Ok(None);
    };
    let name = |read: &Read| graph.values[read.value].name.clone();
    let apart = |kept: &Read, frozen: &Read| TrainingError::StatisticsApart {
        node: graph.nodes[id].name.clone(),
        kept: name(kept),
        frozen: name(frozen),
    };
    match (&graph.values[mean.value].origin, &graph.values[variance.value].origin) {
        (Origin::Variable(_), Origin::Variable(_)) => Ok(Some([mean, variance])),
        (Origin::Variable(_), Origin::Constant(_)) => Err(apart(&mean, &variance)),
        (Origin::Constant(_), Origin::Variable(_)) => Err(apart(&variance, &mean)),
        _ => Ok(None),
    }
}

/// Whether nodes read what a normalisation makes of its statistics.
fn reads_own_statistics(graph: &Graph, id: NodeId) -> bool {
    let own = graph.nodes[id].outputs.iter().skip(1);
    let read = |value: &ValueId| graph.nodes.values().any(|node| node.inputs.contains(&Some(*value)));
    own.into_iter().any(read)
}

/// What the variance of as many elements as a channel has is multiplied by to be unbiased.
fn unbiased(graph: &Graph, id: NodeId) -> f64 {
    let data = graph.nodes[id].inputs.first().copied().flatten().and_then(|value| graph.values[value].ty.as_tensor());
    let count = data.map_or(1, |data| data.shape.elements() / data.shape.get(1).copied().unwrap_or(1).max(1));
    count as f64 / (count as f64 - 1.0).max(1.0)
}

/// Refuses statistics that are read where they are no statistics: training would move them, too.
fn unshared(graph: &Graph, places: &BTreeSet<(NodeId, usize)>) -> Result<(), TrainingError> {
    let value = |&(node, input): &(NodeId, usize)| Some((read_of(graph, graph.nodes[node].inputs[input]?).value, node));
    let statistics: BTreeMap<ValueId, NodeId> = places.iter().filter_map(value).collect();
    let others = graph.nodes.iter().filter(|(_, node)| passed(graph, node).is_none());
    for (id, node) in others {
        for (input, value) in node.inputs.iter().enumerate().filter(|(input, _)| !places.contains(&(id, *input))) {
            let Some(read) = value.map(|value| read_of(graph, value)) else { continue };
            if let Some(&keeper) = statistics.get(&read.value) {
                return Err(TrainingError::SharedStatistic {
                    name: graph.values[read.value].name.clone(),
                    keeper: graph.nodes[keeper].name.clone(),
                    reader: node.name.clone(),
                    input,
                });
            }
        }
    }
    Ok(())
}

/// The value to which identities have given further names, and that gates let through.
fn read_of(graph: &Graph, value: ValueId) -> Read {
    let mut read = Read { value, gates: Vec::new() };
    while let Origin::Node(node, _) = graph.values[read.value].origin
        && let Some(passed) = passed(graph, &graph.nodes[node])
    {
        read.value = passed.value;
        read.gates.extend(passed.gates);
    }
    read
}

/// What a node lets through: an identity its input, a choice between a value and a constant number the value.
fn passed(graph: &Graph, node: &Node) -> Option<Read> {
    let is_number = |value: ValueId| graph.constant_value(value).is_some_and(|tensor| tensor.shape().is_empty());
    match (&node.op, &node.inputs[..]) {
        (Op::Identity(_), &[Some(value)]) => Some(Read { value, gates: Vec::new() }),
        (Op::Where(_), &[Some(condition), Some(then), Some(otherwise)]) => {
            let is_scalar = graph.values[condition].ty.as_tensor().is_some_and(|ty| ty.shape.is_empty());
            let read = |value, wanted| is_scalar.then(|| Read { value, gates: vec![(condition, wanted)] });
            match (is_number(then), is_number(otherwise)) {
                (false, true) => read(then, true),
                (true, false) => read(otherwise, false),
                (true, true) | (false, false) => None,
            }
        }
        _ => None,
    }
}

/// Makes the graph give a condition; its position among what the graph gives.
fn condition_output(graph: &mut Graph, value: ValueId) -> usize {
    let known = graph.outputs.iter().position(|output| output.value == value);
    known.unwrap_or_else(|| {
        graph.outputs.push(GraphOutput { name: graph.values[value].name.clone(), value });
        graph.outputs.len() - 1
    })
}

/// Makes the graph give an output of a node, which may be a new one; its position among what the graph gives.
fn own_statistic(graph: &mut Graph, node: NodeId, position: usize, running: ValueId) -> usize {
    let name = format!("{} of the batch", graph.values[running].name);
    let value = match graph.nodes[node].outputs.get(position) {
        Some(&value) => value,
        None => {
            let ty = graph.values[running].ty.clone();
            let value = graph.values.push(Value { name: name.clone(), ty, origin: Origin::Node(node, position) });
            graph.nodes[node].outputs.push(value);
            value
        }
    };
    graph.outputs.push(GraphOutput { name, value });
    graph.outputs.len() - 1
}

/// Appends what becomes of a running statistic; `outputs` are the graph's.
pub(super) fn update(
    program: &mut ProgramBuilder,
    statistic: &RunningStatistic,
    running: TensorId,
    outputs: &[TensorId],
) -> TensorId {
    let element = program.ty(running).element;
    let literal = |value: f64| Scalar::literal(element, value);
    let own = outputs[statistic.output];
    let moved = compose::map(program, [running, own], element, |[running, own]| {
        let fresh = own.binary(BinaryOp::Multiply, literal((1.0 - statistic.momentum) * statistic.factor));
        running.binary(BinaryOp::Multiply, literal(statistic.momentum)).binary(BinaryOp::Add, fresh)
    });
    statistic.gates.iter().fold(moved, |moved, &(condition, wanted)| {
        let (then, otherwise) = if wanted { (moved, running) } else { (running, moved) };
        compose::map(program, [outputs[condition], then, otherwise], element, |[condition, then, otherwise]| {
            condition.select(then, otherwise)
        })
    })
}
