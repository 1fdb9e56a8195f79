//! Nodes that give their input back.

use crate::ir::Graph;
use crate::ops::Op;
use crate::rewrite::{Patch, Replacement};

/// The pass's name.
pub const NAME: &str = "identity_removal";

/// Replaces identities, dropouts without mask, and casts to the type that the input has, by their input.
pub fn identity_removal(graph: &Graph) -> Vec<Patch> {
    let mut patches = Vec::new();
    for (id, node) in graph.nodes.iter() {
        let ([Some(input), ..], [output]) = (&node.inputs[..], &node.outputs[..]) else { continue };
        let same_type = graph.values[*input].ty == graph.values[*output].ty;
        let identity = match node.op {
            Op::Identity(_) | Op::Dropout(_) | Op::Cast(_) => same_type,
            _ => false,
        };
        if identity {
            patches.push(Patch { pass: NAME, node: id, replacement: Replacement::Values(vec![*input]) });
        }
    }
    patches
}
