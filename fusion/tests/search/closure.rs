//! The published search, for small problems: every partition that a sequence of improving merges reaches.

use std::collections::BTreeSet;

use warpweave_fusion::partition::search::problem::{Memo, NodeSet, PartitionProblem, Solution, union};
use warpweave_fusion::partition::search::quotient::QuotientGraph;

/// The partitions that DeepCuts' Algorithm 1 collects, in the order in which it meets them, with merges that would make
/// a cycle among the groups left out (erratum E9). There may be exponentially many; the search ends at `limit`.
pub fn partitions<P: PartitionProblem>(memo: &mut Memo<'_, P>, limit: usize) -> Vec<Solution> {
    let mut found = vec![Solution::singletons(memo)];
    let mut known: BTreeSet<Vec<NodeSet>> = BTreeSet::from([found[0].groups.clone()]);
    let mut marked = 0;
    while marked < found.len() && found.len() < limit {
        let current = found[marked].clone();
        marked += 1;
        for (first, second) in edges(&current.groups, memo) {
            let both = union([&current.groups[first], &current.groups[second]]);
            let others = current.groups.iter().enumerate().filter(|(at, _)| *at != first && *at != second);
            let mut groups: Vec<NodeSet> = others.map(|(_, group)| group.clone()).collect();
            groups.push(both.clone());
            groups.sort_unstable();
            if memo.price(&both).is_none() || !is_acyclic(&groups, memo) || known.contains(&groups) {
                continue;
            }
            let merged = Solution::new(groups, memo);
            if merged.cost < current.cost {
                known.insert(merged.groups.clone());
                found.push(merged);
            }
        }
    }
    found
}

/// Pairs of groups with a dependence of the second on the first.
fn edges<P: PartitionProblem>(groups: &[NodeSet], memo: &Memo<'_, P>) -> BTreeSet<(usize, usize)> {
    let graph = memo.graph();
    let mut group_of = vec![0; graph.len()];
    for (at, group) in groups.iter().enumerate() {
        group.iter().for_each(|&member| group_of[member] = at);
    }
    let pairs = (0..graph.len()).flat_map(|node| graph.predecessors(node).iter().map(move |&from| (from, node)));
    pairs.map(|(from, to)| (group_of[from], group_of[to])).filter(|(from, to)| from != to).collect()
}

/// Whether the graph of groups has no cycle.
pub fn is_acyclic<P: PartitionProblem>(groups: &[NodeSet], memo: &Memo<'_, P>) -> bool {
    QuotientGraph::new(memo.graph(), groups.iter().cloned()).is_acyclic()
}
