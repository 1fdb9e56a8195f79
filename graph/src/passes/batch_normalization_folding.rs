//! Batch normalisation after a convolution, folded into the convolution's weight and bias.

use super::rewrite::{Operand, Patch, Replacement};
use super::uses;
use crate::ir::{Graph, Node, Origin};
use crate::ops::Op;
use crate::ops::normalizations::batch_normalization::Statistics;
use crate::tensor::Tensor;
use crate::types::TensorType;

/// The pass's name.
pub const NAME: &str = "batch_normalization_folding";

/// Scales the weight of a convolution by what a batch normalisation that alone reads its result multiplies with, and
/// gives it the bias that results. A weight and a bias that leave the range of their type stay as they are: what they are
/// multiplied with and added to need not.
pub fn batch_normalization_folding(graph: &Graph) -> Vec<Patch> {
    let fold = |(id, node): (_, &Node)| Some(Patch { pass: NAME, node: id, replacement: fold(graph, node)? });
    graph.nodes.iter().filter_map(fold).collect()
}

fn fold(graph: &Graph, node: &Node) -> Option<Replacement> {
    let Op::BatchNormalization(normalization) = &node.op else { return None };
    if normalization.statistics == Statistics::OfBatch {
        return None;
    }
    let constant = |node: &Node, input: usize| graph.constant_value(node.inputs.get(input).copied().flatten()?);
    let values = |input: usize| constant(node, input).map(Tensor::to_f64);
    let (scale, bias, mean, variance) = (values(1)?, values(2)?, values(3)?, values(4)?);
    let input = node.inputs[0]?;
    let Origin::Node(producer, _) = graph.values[input].origin else { return None };
    let convolution = &graph.nodes[producer];
    if !matches!(convolution.op, Op::Conv(_)) || uses(graph, input) != 1 {
        return None;
    }
    let weight = constant(convolution, 1)?;
    let channels = scale.len();
    let old_bias = match convolution.inputs.get(2).copied().flatten() {
        Some(_) => constant(convolution, 2)?.to_f64(),
        None => vec![0.0; channels],
    };
    let epsilon = f64::from(normalization.epsilon);
    let factors: Vec<f64> = scale.iter().zip(&variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
    let shifted = (0..channels).map(|channel| (old_bias[channel] - mean[channel]) * factors[channel] + bias[channel]);
    let new_weight = weight.with_slices_scaled(&factors);
    let bias_type = TensorType::new(weight.element(), [channels]);
    let new_bias = Tensor::from_f64(bias_type, &shifted.collect::<Vec<_>>());
    if ![&new_weight, &new_bias].into_iter().all(Tensor::is_finite) {
        return None;
    }
    let data = Operand::Value(convolution.inputs[0]?);
    let inputs = vec![Some(data), Some(Operand::Constant(new_weight)), Some(Operand::Constant(new_bias))];
    Some(Replacement::Node { op: convolution.op.clone(), inputs })
}
