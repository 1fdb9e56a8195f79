//! Topological order of nodes, with cycles and undefined values found.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use warpweave_graph::arena::Arena;

use super::error::ImportError;
use super::flatten::{FlatNode, SymbolId};

/// Puts the nodes into topological order, as near to the given one as can be. `given` symbols are defined outside.
pub(super) fn sort<'m>(
    unsorted: Vec<FlatNode<'m>>,
    given: &[SymbolId],
    names: &Arena<SymbolId, String>,
) -> Result<Vec<FlatNode<'m>>, ImportError> {
    let mut producers: HashMap<SymbolId, Option<usize>> = HashMap::new();
    let nodes = unsorted.iter().enumerate();
    let produced = nodes.flat_map(|(at, node)| node.outputs.iter().flatten().map(move |&symbol| (symbol, Some(at))));
    for (symbol, producer) in given.iter().map(|&symbol| (symbol, None)).chain(produced) {
        if producers.insert(symbol, producer).is_some() {
            return Err(ImportError::invalid(&names[symbol], "the value is defined twice"));
        }
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); unsorted.len()];
    let mut waiting = vec![0usize; unsorted.len()];
    for (at, node) in unsorted.iter().enumerate() {
        for symbol in node.reads() {
            match producers.get(&symbol) {
                None => {
                    let reason = format!("input `{}` is not defined", names[symbol]);
                    return Err(ImportError::invalid(&node.name, reason));
                }
                Some(None) => {}
                Some(Some(producer)) => {
                    readers[*producer].push(at);
                    waiting[at] += 1;
                }
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..waiting.len()).filter(|&at| waiting[at] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(unsorted.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for &reader in &readers[at] {
            waiting[reader] -= 1;
            if waiting[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    if let Some(at) = waiting.iter().position(|&count| count > 0) {
        return Err(ImportError::invalid(&unsorted[at].name, "the node lies on or behind a cycle"));
    }
    let mut nodes: Vec<Option<FlatNode<'_>>> = unsorted.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| nodes[at].take()).collect())
}
