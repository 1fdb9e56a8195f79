//! Dropouts that draw again in every step.

use crate::ir::{Graph, Origin, Value};
use crate::ops::Op;
use crate::ops::random_numbers::dropout::Dropout;
use crate::types::ValueType;

use super::step::SEED;

/// The graph with its dropouts in training mode. If there are any, what they draw by is one more input, [`SEED`].
pub(super) fn drawing(graph: &Graph) -> Graph {
    let mut training = graph.clone();
    let nodes: Vec<_> = graph.nodes.ids().filter(|&node| matches!(graph.nodes[node].op, Op::Dropout(_))).collect();
    if nodes.is_empty() {
        return training;
    }
    let ty = ValueType::from(Dropout::seed_type());
    let seed = training.values.push(Value { name: SEED.to_owned(), ty, origin: Origin::Input(None) });
    training.inputs.push(seed);
    for (stream, id) in nodes.into_iter().enumerate() {
        let node = &mut training.nodes[id];
        if let Op::Dropout(dropout) = &node.op {
            node.op = Op::Dropout(dropout.in_step(stream as u32));
            node.inputs.resize(2, None);
            node.inputs.push(Some(seed));
        }
    }
    training
}
