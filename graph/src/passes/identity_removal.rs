//! Nodes that give their input back.

use super::rewrite::{Patch, Replacement};
use crate::ir::{Graph, Node};
use crate::ops::Op;

/// The pass's name.
pub const NAME: &str = "identity_removal";

/// Replaces identities, dropouts in inference without mask, and casts to the type that the input has, by their input.
pub fn identity_removal(graph: &Graph) -> Vec<Patch> {
    let mut patches = Vec::new();
    for (id, node) in graph.nodes.iter() {
        let ([Some(input), ..], [output]) = (&node.inputs[..], &node.outputs[..]) else { continue };
        let same_type = graph.values[*input].ty == graph.values[*output].ty;
        let identity = match node.op {
            Op::Identity(_) | Op::Cast(_) => same_type,
            Op::Dropout(_) => same_type && !is_training(graph, node),
            _ => false,
        };
        if identity {
            patches.push(Patch { pass: NAME, node: id, replacement: Replacement::Values(vec![*input]) });
        }
    }
    patches
}

/// Whether the third input of a dropout asks for training.
fn is_training(graph: &Graph, node: &Node) -> bool {
    let mode = node.inputs.get(2).copied().flatten();
    mode.is_some_and(|mode| graph.constant_value(mode).is_none_or(|value| value.bytes().iter().any(|&byte| byte != 0)))
}
