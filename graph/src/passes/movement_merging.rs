//! Chains of reshapes and of transposes.

use super::rewrite::{Operand, Patch, Replacement};
use crate::ir::{Graph, Node, Origin, ValueId};
use crate::ops::Op;
use crate::ops::layout::reshape::Reshape;
use crate::ops::layout::transpose::Transpose;
use crate::tensor::Tensor;
use crate::types::Shape;

/// The pass's name.
pub const NAME: &str = "movement_merging";

/// Makes one reshape of a chain of reshapes (flattening, squeezing and unsqueezing included), one transpose of a chain of
/// transposes, and removes those that change nothing.
pub fn movement_merging(graph: &Graph) -> Vec<Patch> {
    let merge = |(id, node): (_, &Node)| {
        let replacement = merge_reshapes(graph, node).or_else(|| merge_transposes(graph, node))?;
        Some(Patch { pass: NAME, node: id, replacement })
    };
    graph.nodes.iter().filter_map(merge).collect()
}

fn merge_reshapes(graph: &Graph, node: &Node) -> Option<Replacement> {
    if !is_reshape(&node.op) {
        return None;
    }
    let input = node.inputs[0]?;
    let (from, to) = (shape(graph, input)?, shape(graph, node.outputs[0])?);
    if from == to {
        return Some(Replacement::Values(vec![input]));
    }
    let before = producer(graph, input).filter(|before| is_reshape(&before.op))?;
    let extents: Vec<i64> = to.iter().map(|&extent| extent as i64).collect();
    let target = Operand::Constant(Tensor::vector_i64(&extents));
    let inputs = vec![Some(Operand::Value(before.inputs[0]?)), Some(target)];
    Some(Replacement::Node { op: Reshape::exactly().into(), inputs })
}

fn merge_transposes(graph: &Graph, node: &Node) -> Option<Replacement> {
    let second = permutation(graph, node)?;
    let input = node.inputs[0]?;
    if second.iter().enumerate().all(|(place, &dimension)| place == dimension) {
        return Some(Replacement::Values(vec![input]));
    }
    let before = producer(graph, input)?;
    let first = permutation(graph, before)?;
    let both: Vec<usize> = second.iter().map(|&dimension| first[dimension]).collect();
    let inputs = vec![Some(Operand::Value(before.inputs[0]?))];
    Some(Replacement::Node { op: Transpose::new(&both).into(), inputs })
}

fn is_reshape(op: &Op) -> bool {
    matches!(op, Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_))
}

fn permutation(graph: &Graph, node: &Node) -> Option<Vec<usize>> {
    match &node.op {
        Op::Transpose(transpose) => transpose.permutation(shape(graph, node.inputs[0]?)?.len()).ok(),
        _ => None,
    }
}

fn shape(graph: &Graph, value: ValueId) -> Option<&Shape> {
    graph.values[value].ty.as_tensor().map(|ty| &ty.shape)
}

fn producer(graph: &Graph, value: ValueId) -> Option<&Node> {
    match graph.values[value].origin {
        Origin::Node(node, _) => Some(&graph.nodes[node]),
        Origin::Input(_) | Origin::Constant(_) | Origin::Variable(_) => None,
    }
}
