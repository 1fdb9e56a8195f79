//! Merging of neighbouring groups, first improvement first, from any partition.

use std::collections::BTreeSet;

use crate::partition::search::problem::{Memo, NodeSet, PartitionProblem, Solution, union};
use crate::partition::search::quotient::{GroupId, QuotientGraph};

/// The partition after every merge of two neighbouring groups that costs less than the two, until there is none or the
/// budget is spent.
pub fn improve<P: PartitionProblem>(start: Solution, memo: &mut Memo<'_, P>) -> Solution {
    let mut merging = Merging { quotient: QuotientGraph::new(memo.graph(), start.groups), rejected: BTreeSet::new() };
    while merging.round(memo) {}
    Solution::new(merging.quotient.into_groups(), memo)
}

struct Merging {
    quotient: QuotientGraph,
    rejected: BTreeSet<(NodeSet, NodeSet)>,
}

impl Merging {
    /// Tries every pair of neighbouring groups once; whether any was merged.
    fn round<P: PartitionProblem>(&mut self, memo: &mut Memo<'_, P>) -> bool {
        let graph = memo.graph();
        let mut merged = false;
        for node in 0..graph.len() {
            if memo.is_spent() {
                return false;
            }
            for &predecessor in graph.predecessors(node) {
                let (first, second) = (self.quotient.group_of(predecessor), self.quotient.group_of(node));
                merged |= first != second && self.merge(first, second, memo);
            }
        }
        merged
    }

    fn merge<P: PartitionProblem>(&mut self, first: GroupId, second: GroupId, memo: &mut Memo<'_, P>) -> bool {
        let pair = (self.quotient.members(first).clone(), self.quotient.members(second).clone());
        if self.rejected.contains(&pair) {
            return false;
        }
        let both = union([&pair.0, &pair.1]);
        let price = |set: &NodeSet, memo: &mut Memo<'_, P>| memo.price(set).unwrap_or(f64::INFINITY);
        let separate = price(&pair.0, memo) + price(&pair.1, memo);
        if price(&both, memo) >= separate || self.quotient.makes_cycle(first, second) {
            self.rejected.insert(pair);
            return false;
        }
        self.quotient.merge(first, second);
        true
    }
}
