//! The order in which a search places nodes: what it costs grows with the groups that are open at once.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::partition::search::problem::{DependenceGraph, NodeSet};

/// An order of placement, with nodes numbered along it.
pub(crate) struct Placement {
    /// The problem's node at each place.
    nodes: Vec<usize>,
    graph: DependenceGraph,
}

impl Placement {
    /// The problem's own order, or the one that ends values early, if it holds at most half as many open.
    pub(crate) fn of(graph: &DependenceGraph) -> Self {
        let own: Vec<usize> = (0..graph.len()).collect();
        let early = ending_early(graph);
        let nodes = if 2 * most_open(graph, &early) <= most_open(graph, &own) { early } else { own };
        let mut place = vec![0; nodes.len()];
        nodes.iter().enumerate().for_each(|(at, &node)| place[node] = at);
        let named = nodes.iter().map(|&node| graph.predecessors(node).iter().map(|&before| place[before]).collect());
        let graph = DependenceGraph::new(named.collect());
        Self { nodes, graph }
    }

    /// The order in stretches at whose ends at most `most` nodes of the stretch have readers to come. What is placed in one
    /// depends on nothing of a later one, so that groups of different stretches never make a cycle.
    pub(crate) fn windows(self, most: usize) -> Vec<Self> {
        let mut windows = Vec::new();
        let mut first = 0;
        let mut unread: Vec<usize> = (0..self.graph.len()).map(|node| self.graph.successors(node).len()).collect();
        let mut open = 0;
        for node in 0..self.graph.len() {
            if open >= most {
                windows.push(self.window(first..node));
                (first, open) = (node, 0);
            }
            open += usize::from(unread[node] > 0);
            for &before in self.graph.predecessors(node) {
                unread[before] -= 1;
                open -= usize::from(unread[before] == 0 && before >= first);
            }
        }
        if first == 0 {
            return vec![self];
        }
        windows.push(self.window(first..self.graph.len()));
        windows
    }

    /// A stretch of the order, with the dependences inside it.
    fn window(&self, places: Range<usize>) -> Self {
        let inside = |node: usize| {
            let before = self.graph.predecessors(node).iter().filter(|&&before| before >= places.start);
            before.map(|&before| before - places.start).collect()
        };
        let graph = DependenceGraph::new(places.clone().map(inside).collect());
        Self { nodes: self.nodes[places].to_vec(), graph }
    }

    /// Who depends on whom, by place.
    pub(crate) fn graph(&self) -> &DependenceGraph {
        &self.graph
    }

    /// The problem's nodes at these places.
    pub(crate) fn named(&self, places: &[usize]) -> NodeSet {
        let mut nodes: Vec<usize> = places.iter().map(|&place| self.nodes[place]).collect();
        nodes.sort_unstable();
        nodes.into()
    }
}

/// Every node after those that it depends on; among those that may come next, one that ends most values for those that it
/// opens, the problem's first among equals.
fn ending_early(graph: &DependenceGraph) -> Vec<usize> {
    let mut unplaced: Vec<usize> = (0..graph.len()).map(|node| graph.predecessors(node).len()).collect();
    let mut unread: Vec<usize> = (0..graph.len()).map(|node| graph.successors(node).len()).collect();
    let gain = |node: usize, unread: &[usize]| -> isize {
        let ended = graph.predecessors(node).iter().filter(|&&before| unread[before] == 1).count();
        ended as isize - isize::from(!graph.successors(node).is_empty())
    };
    let entry = |node: usize, unread: &[usize]| (gain(node, unread), std::cmp::Reverse(node));
    let mut ready: BinaryHeap<(isize, std::cmp::Reverse<usize>)> =
        (0..graph.len()).filter(|&node| unplaced[node] == 0).map(|node| entry(node, &unread)).collect();
    let mut placed = vec![false; graph.len()];
    let mut order: Vec<usize> = Vec::with_capacity(graph.len());
    while let Some((_, std::cmp::Reverse(node))) = ready.pop() {
        // A node stands in the heap once for every gain that it has had; gains only grow, so the newest comes first.
        if std::mem::replace(&mut placed[node], true) {
            continue;
        }
        order.push(node);
        for &before in graph.predecessors(node) {
            unread[before] -= 1;
            if unread[before] == 1 {
                let last = graph.successors(before).iter().find(|&&reader| !placed[reader] && unplaced[reader] == 0);
                ready.extend(last.map(|&reader| entry(reader, &unread)));
            }
        }
        for &reader in graph.successors(node) {
            unplaced[reader] -= 1;
            if unplaced[reader] == 0 {
                ready.push(entry(reader, &unread));
            }
        }
    }
    order
}

/// The most nodes that are placed while a reader of theirs is not.
fn most_open(graph: &DependenceGraph, order: &[usize]) -> usize {
    let mut unread: Vec<usize> = (0..graph.len()).map(|node| graph.successors(node).len()).collect();
    let (mut open, mut most) = (0, 0);
    for &node in order {
        open += usize::from(unread[node] > 0);
        for &before in graph.predecessors(node) {
            unread[before] -= 1;
            open -= usize::from(unread[before] == 0);
        }
        most = most.max(open);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recurrent network of `layers` and `steps`, layer after layer.
    fn recurrent(layers: usize, steps: usize) -> DependenceGraph {
        let cell = |layer: usize, step: usize| layer * steps + step;
        let reads = |layer: usize, step: usize| {
            let below = (layer > 0).then(|| cell(layer - 1, step));
            below.into_iter().chain((step > 0).then(|| cell(layer, step - 1))).collect()
        };
        let cells = (0..layers).flat_map(|layer| (0..steps).map(move |step| (layer, step)));
        DependenceGraph::new(cells.map(|(layer, step)| reads(layer, step)).collect())
    }

    #[test]
    fn recurrent_networks_are_placed_along_their_short_side() {
        let graph = recurrent(4, 50);
        let placement = Placement::of(&graph);
        assert!(most_open(placement.graph(), &(0..200).collect::<Vec<_>>()) <= 8);
        assert_eq!(most_open(&graph, &(0..200).collect::<Vec<_>>()), 50);
        let mut nodes = placement.nodes.clone();
        nodes.sort_unstable();
        assert_eq!(nodes, (0..200).collect::<Vec<_>>());
    }
}
