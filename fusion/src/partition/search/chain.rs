//! Exact search on chains: T[j] = min over i of T[i] + cost(i … j − 1) (erratum E9).

use crate::partition::search::problem::{Memo, NodeSet, PartitionProblem, Solution};

/// No group of a chain is longer. Chains up to this length are solved exactly.
pub const LONGEST_GROUP: usize = 128;
/// Groups that may be priced over a whole search. In chains of more than these allow, groups are shorter, and merging of
/// neighbours makes longer ones.
const PRICED: usize = 16_384;
/// Groups of a chain may always be of as many nodes.
const SHORTEST_LIMIT: usize = 8;

/// The cheapest partition of a chain; nodes that a spent budget leaves over stay by themselves.
pub fn solve<P: PartitionProblem>(memo: &mut Memo<'_, P>) -> Solution {
    let length = memo.graph().len();
    let most = (PRICED / length.max(1)).clamp(SHORTEST_LIMIT, LONGEST_GROUP);
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
