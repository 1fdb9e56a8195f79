//! The quotient graph of a partition: its groups, and which of them depends on which.

use petgraph::algo::toposort;
use petgraph::stable_graph::{NodeIndex, StableDiGraph};
use petgraph::visit::{Dfs, NodeFiltered, Reversed};

use crate::partition::search::problem::{DependenceGraph, NodeSet, union};

/// A group of a quotient graph.
pub type GroupId = NodeIndex;

/// The groups of a partition, with an edge for every dependence between nodes of two groups.
#[derive(Clone, Debug)]
pub struct QuotientGraph {
    groups: StableDiGraph<NodeSet, ()>,
    group_of: Vec<GroupId>,
    /// `None` where a group depends on itself through others.
    order: Option<Order>,
}

/// Groups in a topological order.
#[derive(Clone, Debug)]
struct Order {
    /// What stands at each place; nothing where a group was merged into another.
    groups: Vec<Option<GroupId>>,
    /// The place of each group, by its index.
    places: Vec<usize>,
}

impl QuotientGraph {
    /// The quotient of `graph` by `groups`, of which each node is in at most one. A node that is in none is a group of its own.
    pub fn new(graph: &DependenceGraph, groups: impl IntoIterator<Item = NodeSet>) -> Self {
        let mut quotient =
            Self { groups: StableDiGraph::new(), group_of: vec![GroupId::end(); graph.len()], order: None };
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
        quotient.order = toposort(&quotient.groups, None).ok().map(Order::new);
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
        self.order.is_some()
    }

    /// Whether a path leaves two groups and comes back to one of them through others, so that merging the two makes a cycle.
    pub fn makes_cycle(&self, first: GroupId, second: GroupId) -> bool {
        let is_inside = |group: GroupId| group == first || group == second;
        // Along a path places ascend: none comes back from a group that stands behind both. The numbers of nodes tell nothing of
        // that, since a group on the path may hold one that stands before everything.
        let is_before = |order: &Order, group: GroupId| {
            order.places[group.index()] < order.places[first.index()].max(order.places[second.index()])
        };
        let may_return =
            |group: GroupId| is_inside(group) || self.order.as_ref().is_none_or(|order| is_before(order, group));
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
        self.order = self.order.take().map(|order| order.merged(&self.groups, first, second));
    }
}

impl Order {
    fn new(groups: Vec<GroupId>) -> Self {
        let mut places = vec![0; groups.iter().map(|group| group.index() + 1).max().unwrap_or(0)];
        groups.iter().enumerate().for_each(|(place, group)| places[group.index()] = place);
        Self { groups: groups.into_iter().map(Some).collect(), places }
    }

    /// The order after `second` was merged into `first`, which makes no cycle: of what stands between the two, what the merged
    /// group depends on stands before it, and everything else behind it.
    fn merged(mut self, graph: &StableDiGraph<NodeSet, ()>, first: GroupId, second: GroupId) -> Self {
        let ends = [first, second].map(|group| self.places[group.index()]);
        let (start, end) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let places = &self.places;
        let is_between = |group: GroupId| (start..=end).contains(&places[group.index()]);
        let between = NodeFiltered::from_fn(graph, is_between);
        let before = Reversed(&between);
        let mut search = Dfs::new(&before, first);
        let mut is_needed = vec![false; end + 1 - start];
        while let Some(group) = search.next(&before) {
            is_needed[places[group.index()] - start] = true;
        }
        let others =
            self.groups[start..=end].iter().zip(is_needed).filter_map(|(group, needed)| Some(((*group)?, needed)));
        let others: Vec<(GroupId, bool)> = others.filter(|(group, _)| ![first, second].contains(group)).collect();
        let of =
            |wanted: bool| others.iter().filter(move |(_, needed)| *needed == wanted).map(|(group, _)| Some(*group));
        let ordered = of(true).chain([Some(first)]).chain(of(false)).chain(std::iter::repeat(None));
        for (place, group) in (start..=end).zip(ordered) {
            self.groups[place] = group;
            group.into_iter().for_each(|group| self.places[group.index()] = place);
        }
        self
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

    /// 5 reads 2, and 6 reads 5; 3 reads 2, and 1, which is in a group with 6.
    #[test]
    fn a_path_may_lead_through_a_group_that_begins_after_both() {
        let graph = DependenceGraph::new(vec![vec![], vec![], vec![0], vec![1, 2], vec![], vec![2], vec![5]]);
        let quotient = QuotientGraph::new(&graph, [vec![1, 6]].map(NodeSet::from));
        assert!(quotient.is_acyclic() && quotient.makes_cycle(quotient.group_of(2), quotient.group_of(3)));
        assert!(!quotient.makes_cycle(quotient.group_of(0), quotient.group_of(2)));
    }

    #[test]
    fn cycles_are_what_a_new_order_would_not_have() {
        let mut state = 7u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut made, mut refused) = (0, 0);
        for _ in 0..200 {
            let nodes = 4 + draw(12);
            let before = |node: usize, draw: &mut dyn FnMut(usize) -> usize| {
                let mut before: Vec<usize> = (0..draw(3).min(node)).map(|_| draw(node)).collect();
                before.sort_unstable();
                before.dedup();
                before
            };
            let graph = DependenceGraph::new((0..nodes).map(|node| before(node, &mut draw)).collect());
            let mut quotient = QuotientGraph::new(&graph, []);
            for _ in 0..2 * nodes {
                let (first, second) = (quotient.group_of(draw(nodes)), quotient.group_of(draw(nodes)));
                if first == second {
                    continue;
                }
                let mut merged = quotient.clone();
                merged.merge(first, second);
                let is_acyclic = QuotientGraph::new(&graph, merged.clone().into_groups()).is_acyclic();
                assert_eq!(quotient.makes_cycle(first, second), !is_acyclic);
                match is_acyclic {
                    true => (quotient, made) = (merged, made + 1),
                    false => refused += 1,
                }
            }
        }
        assert!(made > 500 && refused > 100, "{made} merges and {refused} cycles are tried");
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
