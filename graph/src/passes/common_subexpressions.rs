//! Nodes that compute what an earlier node computes.

use std::collections::HashMap;

use bytes::Bytes;

use super::rewrite::{Patch, Replacement};
use crate::arena::Arena;
use crate::ir::{Graph, Origin, ValueId};
use crate::types::TensorType;

/// The pass's name.
pub const NAME: &str = "common_subexpressions";

/// Operator, inputs, and the number of outputs.
type Key = (String, Vec<Option<ValueId>>, usize);

/// What is looked at first of a constant: its type, its first and its last bytes.
type Outline<'g> = (&'g TensorType, &'g [u8], &'g [u8]);

/// Replaces a node by an earlier one with an equal operator and equal inputs. Constants are equal if type and bytes are.
pub fn common_subexpressions(graph: &Graph) -> Vec<Patch> {
    let mut constants: HashMap<Outline, Vec<(&Bytes, ValueId)>> = HashMap::new();
    // The value that stands for all that are equal to it.
    let mut leaders: Arena<ValueId, ValueId> = graph.values.ids().collect();
    for (id, value) in graph.values.iter() {
        if let Origin::Constant(tensor) = &value.origin {
            let bytes = tensor.bytes();
            let (first, last) = ends(bytes);
            let alike = constants.entry((tensor.ty(), first, last)).or_default();
            match alike.iter().find(|(other, _)| *other == bytes) {
                Some(&(_, leader)) => leaders[id] = leader,
                None => alike.push((bytes, id)),
            }
        }
    }
    let mut known: HashMap<Key, &[ValueId]> = HashMap::new();
    let mut patches = Vec::new();
    for (id, node) in graph.nodes.iter() {
        let inputs: Vec<Option<ValueId>> = node.inputs.iter().map(|input| input.map(|input| leaders[input])).collect();
        let key = (format!("{:?}", node.op), inputs, node.outputs.len());
        let Some(earlier) = known.get(&key) else {
            known.insert(key, &node.outputs);
            continue;
        };
        for (&output, &leader) in node.outputs.iter().zip(*earlier) {
            leaders[output] = leader;
        }
        patches.push(Patch { pass: NAME, node: id, replacement: Replacement::Values(earlier.to_vec()) });
    }
    patches
}

/// The first and the last bytes: they tell most constants apart, and hashing all of a model's weights takes seconds.
fn ends(bytes: &[u8]) -> (&[u8], &[u8]) {
    let length = bytes.len().min(64);
    (&bytes[..length], &bytes[bytes.len() - length..])
}
