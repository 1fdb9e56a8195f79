//! The quotient graph of a partition: its groups, and which of them depends on which.

use petgraph::algo::is_cyclic_directed;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::{Dfs, NodeFiltered};

use crate::partition::search::problem::{DependenceGraph, NodeSet, union};

/// A group of a quotient graph.
pub type GroupId = NodeIndex;

/// The groups of a partition, with an edge for every dependence between nodes of two groups.
#[derive(Clone, Debug)]
pub struct QuotientGraph {
    groups: StableDiGraph<NodeSet, ()>,
    group_of: Vec<GroupId>,
}

impl QuotientGraph {
    /// The quotient of `graph` by `groups`, of which each node is in at most one. A node that is in none is a group of its own.
    pub fn new(graph: &DependenceGraph, groups: impl IntoIterator<Item = NodeSet>) -> Self {
        let mut quotient = Self { groups: StableDiGraph::new(), group_of: vec![GroupId::end(); graph.len()] };
        for members in groups {
            let group = quotient.groups.add_node(members.clone());
            members.iter().for_each(|&member| quotient.group_of[member] = group);
        }
        for node in 0..graph.len() {
            if quotient.group_of[node] == GroupId::end() {
                quotient.group_of[node] = quotient.groups.add_node(NodeSet::from([node]));
            }
            for &predecessor in graph.predecessors(node) {
                let (from, to) = (quotient.group_of[predecessor], quotient.group_of[node]);
                if from != to {
                    quotient.groups.add_edge(from, to, ());
                }
            }
        }
        quotient
    }

    pub fn group_of(&self, node: usize) -> GroupId {
        self.group_of[node]
    }

    pub fn members(&self, group: GroupId) -> &NodeSet {
        &self.groups[group]
    }

    /// The groups, ascending by their first nodes.
    pub fn into_groups(self) -> Vec<NodeSet> {
        let mut groups: Vec<NodeSet> = self.groups.node_weights().cloned().collect();
        groups.sort_unstable();
        groups
    }

    /// Whether no group depends on itself through others.
    pub fn is_acyclic(&self) -> bool {
        !is_cyclic_directed(&self.groups)
    }

    /// Whether a path leaves two groups and comes back to one of them through others, so that merging the two makes a cycle.
    pub fn makes_cycle(&self, first: GroupId, second: GroupId) -> bool {
        let is_inside = |group: GroupId| group == first || group == second;
        // Nodes are numbered along their dependences: no path comes back from a group that begins after both end.
        let last = [first, second].map(|group| self.groups[group].last().copied()).into_iter().max().flatten();
        let may_return = |group: GroupId| is_inside(group) || self.groups[group].first().copied() <= last;
        let graph = NodeFiltered::from_fn(&self.groups, may_return);
        let mut search = Dfs::empty(&graph);
        let readers = [first, second].into_iter().flat_map(|group| self.groups.neighbors(group));
        search.stack.extend(readers.filter(|&group| !is_inside(group) && may_return(group)));
        while let Some(group) = search.next(&graph) {
            if is_inside(group) {
                return true;
            }
        }
        false
    }

    /// Makes one group of two.
    pub fn merge(&mut self, first: GroupId, second: GroupId) {
        let members = union([&self.groups[first], &self.groups[second]]);
        self.groups[second].iter().for_each(|&member| self.group_of[member] = first);
        let before: Vec<GroupId> = self.groups.neighbors_directed(second, petgraph::Incoming).collect();
        let after: Vec<GroupId> = self.groups.neighbors(second).collect();
        self.groups.remove_node(second);
        before.into_iter().filter(|&group| group != first).for_each(|group| {
            self.groups.add_edge(group, first, ());
        });
        after.into_iter().filter(|&group| group != first).for_each(|group| {
            self.groups.add_edge(first, group, ());
        });
        self.groups[first] = members;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes 0 … 4: 1 and 2 read 0, 3 reads 1, 4 reads 2 and 3.
    fn graph() -> DependenceGraph {
        DependenceGraph::new(vec![vec![], vec![0], vec![0], vec![1], vec![2, 3]])
    }

    fn singletons() -> QuotientGraph {
        QuotientGraph::new(&graph(), (0..5).map(|node| NodeSet::from([node])))
    }

    #[test]
    fn a_path_around_makes_a_cycle() {
        let quotient = singletons();
        let makes =
            |first: usize, second: usize| quotient.makes_cycle(quotient.group_of(first), quotient.group_of(second));
        assert!(!makes(0, 1) && !makes(1, 3) && !makes(3, 4) && !makes(1, 2));
        assert!(makes(0, 3) && makes(0, 4) && makes(1, 4));
    }

    #[test]
    fn merged_groups_keep_the_dependences_of_both() {
        let mut quotient = singletons();
        quotient.merge(quotient.group_of(1), quotient.group_of(2));
        assert_eq!(quotient.group_of(1), quotient.group_of(2));
        assert!(quotient.is_acyclic() && quotient.makes_cycle(quotient.group_of(1), quotient.group_of(4)));
        quotient.merge(quotient.group_of(1), quotient.group_of(3));
        assert!(!quotient.makes_cycle(quotient.group_of(1), quotient.group_of(4)));
        assert_eq!(quotient.into_groups(), [vec![0], vec![1, 2, 3], vec![4]].map(NodeSet::from));
    }

    #[test]
    fn nodes_of_no_group_are_groups() {
        let quotient = QuotientGraph::new(&graph(), [vec![0], vec![3, 4]].map(NodeSet::from));
        assert!(quotient.makes_cycle(quotient.group_of(0), quotient.group_of(4)));
        assert_eq!(quotient.into_groups(), [vec![0], vec![1], vec![2], vec![3, 4]].map(NodeSet::from));
    }

    #[test]
    fn groups_that_read_each_other_are_a_cycle() {
        let groups = [vec![0], vec![1, 4], vec![2], vec![3]].map(NodeSet::from);
        assert!(!QuotientGraph::new(&graph(), groups).is_acyclic());
    }
}
