//! Nodes that no output depends on.

use super::rewrite::{Patch, Replacement};
use crate::arena::Arena;
use crate::ir::{Graph, ValueId};

/// The pass's name.
pub const NAME: &str = "dead_code";

/// Removes the nodes that no output of the graph depends on.
pub fn dead_code(graph: &Graph) -> Vec<Patch> {
    let mut needed: Arena<ValueId, bool> = graph.values.ids().map(|_| false).collect();
    graph.outputs.iter().for_each(|output| needed[output.value] = true);
    let mut patches = Vec::new();
    for (id, node) in graph.nodes.iter().rev() {
        if node.outputs.iter().any(|&output| needed[output]) {
            node.inputs.iter().flatten().for_each(|&input| needed[input] = true);
        } else {
            patches.push(Patch { pass: NAME, node: id, replacement: Replacement::Nothing });
        }
    }
    patches
}
