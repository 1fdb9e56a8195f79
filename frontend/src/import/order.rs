//! Topological order of nodes, with cycles and undefined values found.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::error::ImportError;
use super::flatten::{Flat, FlatNode, SymbolId};

/// Puts the nodes into topological order, as near to the given one as can be. `given` symbols are defined outside.
pub(super) fn sort(flat: &mut Flat, given: &[SymbolId]) -> Result<(), ImportError> {
    let mut producers: HashMap<SymbolId, Option<usize>> = HashMap::new();
    let nodes = flat.nodes.iter().enumerate();
    let produced = nodes.flat_map(|(at, node)| node.outputs.iter().flatten().map(move |&symbol| (symbol, Some(at))));
    for (symbol, producer) in given.iter().map(|&symbol| (symbol, None)).chain(produced) {
        if producers.insert(symbol, producer).is_some() {
            return Err(ImportError::invalid(&flat.symbols[symbol], "the value is defined twice"));
        }
    }
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); flat.nodes.len()];
    let mut waiting = vec![0usize; flat.nodes.len()];
    for (at, node) in flat.nodes.iter().enumerate() {
        for &symbol in node.inputs.iter().flatten() {
            match producers.get(&symbol) {
                None => {
                    let reason = format!("input `{}` is not defined", flat.symbols[symbol]);
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
    let mut order = Vec::with_capacity(flat.nodes.len());
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
        return Err(ImportError::invalid(&flat.nodes[at].name, "the node lies on or behind a cycle"));
    }
    let mut nodes: Vec<Option<FlatNode<'_>>> = std::mem::take(&mut flat.nodes).into_iter().map(Some).collect();
    flat.nodes = order.into_iter().filter_map(|at| nodes[at].take()).collect();
    Ok(())
}
