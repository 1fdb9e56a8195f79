//! Exact search on chains: `T[j] = min over i of T[i] + cost(i … j − 1)` (erratum E9).

use crate::partition::search::problem::{Memo, NodeSet, PartitionProblem, Solution};
use crate::tuning::SearchTuning;

/// The cheapest partition of a chain; nodes that a spent budget leaves over stay by themselves.
pub fn solve<P: PartitionProblem>(memo: &mut Memo<'_, P>) -> Solution {
    let length = memo.graph().len();
    let most = (SearchTuning::DEFAULT.partition.chain_prices / length.max(1))
        .clamp(SearchTuning::DEFAULT.partition.shortest_longest_group, SearchTuning::DEFAULT.partition.longest_group);
    let mut cheapest: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=length {
        let longest = if memo.is_spent() { 1 } else { most };
        let starts: Vec<usize> = (end.saturating_sub(longest)..end).collect();
        memo.prepare(starts.iter().map(|&start| (start..end).collect()).collect());
        let priced = starts.into_iter().filter_map(|start| {
            let group: NodeSet = (start..end).collect();
            Some((cheapest[start].0 + memo.price(&group)?, start))
        });
        let best = priced.min_by(|a, b| a.0.total_cmp(&b.0)).expect("a single node is a group");
        cheapest.push(best);
    }
    let mut groups: Vec<NodeSet> = Vec::new();
    let mut end = length;
    while end > 0 {
        let start = cheapest[end].1;
        groups.push((start..end).collect());
        end = start;
    }
    Solution::new(groups, memo)
}
