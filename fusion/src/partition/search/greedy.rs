//! Merging of neighbouring groups, first improvement first, from any partition.

use std::collections::{BTreeMap, BTreeSet};

use crate::partition::search::problem::{Memo, NodeSet, PartitionProblem, Solution, union};

/// The partition after every merge of two neighbouring groups that costs less than the two, until there is none or the
/// budget is spent.
pub fn improve<P: PartitionProblem>(start: Solution, memo: &mut Memo<'_, P>) -> Solution {
    let mut merging = Merging::new(start);
    while merging.round(memo) {}
    Solution::new(merging.groups.into_values().collect(), memo)
}

struct Merging {
    /// By first member.
    groups: BTreeMap<usize, NodeSet>,
    group_of: Vec<usize>,
    rejected: BTreeSet<(NodeSet, NodeSet)>,
}

impl Merging {
    fn new(start: Solution) -> Self {
        let mut group_of = vec![0; start.groups.iter().map(|group| group.len()).sum()];
        for group in &start.groups {
            group.iter().for_each(|&member| group_of[member] = group[0]);
        }
        let groups = start.groups.into_iter().map(|group| (group[0], group)).collect();
        Self { groups, group_of, rejected: BTreeSet::new() }
    }

    /// Tries every pair of neighbouring groups once; whether any was merged.
    fn round<P: PartitionProblem>(&mut self, memo: &mut Memo<'_, P>) -> bool {
        let graph = memo.graph();
        let mut merged = false;
        for node in 0..graph.len() {
            if memo.is_spent() {
                return false;
            }
            for &predecessor in graph.predecessors(node) {
                let (first, second) = (self.group_of[predecessor], self.group_of[node]);
                merged |= first != second && self.merge(first, second, memo);
            }
        }
        merged
    }

    fn merge<P: PartitionProblem>(&mut self, first: usize, second: usize, memo: &mut Memo<'_, P>) -> bool {
        let pair = (self.groups[&first].clone(), self.groups[&second].clone());
        if self.rejected.contains(&pair) {
            return false;
        }
        let both = union([&pair.0, &pair.1]);
        let price = |set: &NodeSet, memo: &mut Memo<'_, P>| memo.price(set).unwrap_or(f64::INFINITY);
        let separate = price(&pair.0, memo) + price(&pair.1, memo);
        if price(&both, memo) >= separate || self.makes_cycle(&both, memo) {
            self.rejected.insert(pair);
            return false;
        }
        self.groups.remove(&first);
        self.groups.remove(&second);
        both.iter().for_each(|&member| self.group_of[member] = both[0]);
        self.groups.insert(both[0], both);
        true
    }

    /// Whether a path through other groups leaves the set and comes back.
    fn makes_cycle<P: PartitionProblem>(&self, members: &NodeSet, memo: &Memo<'_, P>) -> bool {
        let graph = memo.graph();
        let last = members.last().copied().unwrap_or(0);
        let inside = |node: usize| members.binary_search(&node).is_ok();
        let readers = |group: &NodeSet| -> Vec<usize> {
            group.iter().flat_map(|&member| graph.successors(member).iter().copied()).collect()
        };
        let mut stack: Vec<usize> = readers(members).into_iter().filter(|&reader| !inside(reader)).collect();
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        while let Some(node) = stack.pop() {
            let name = self.group_of[node];
            if name > last || !seen.insert(name) {
                continue;
            }
            for reader in readers(&self.groups[&name]) {
                if inside(reader) {
                    return true;
                }
                stack.push(reader);
            }
        }
        false
    }
}
