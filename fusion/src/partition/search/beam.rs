//! Beam search over merge sequences: nodes are placed one after another, each by itself or merged into groups that it
//! reads.
//!
//! States that can still develop in the same ways are compared by cost and only the cheapest stays. So the beam is
//! spent on choices that matter. A beam that is never full is exact where every connected beginning of a possible group
//! is possible too.

use crate::partition::search::order::Placement;
use crate::partition::search::problem::{DependenceGraph, Memo, NodeSet, PartitionProblem, Solution};
use crate::partition::search::state::State;
use crate::tuning::SearchTuning;

/// The best partition that a beam finds, its width fitted to the number of nodes; nodes that a spent budget leaves over
/// stay by themselves.
pub fn solve<P: PartitionProblem>(memo: &mut Memo<'_, P>) -> Solution {
    let placement = Placement::of(memo.graph());
    let windows = placement.windows(SearchTuning::DEFAULT.partition.most_open_groups);
    let groups = windows.iter().flat_map(|window| solve_window(window, memo)).collect();
    Solution::new(groups, memo)
}

/// The groups of one stretch of the order.
fn solve_window<P: PartitionProblem>(placement: &Placement, memo: &mut Memo<'_, P>) -> Vec<NodeSet> {
    let graph = placement.graph();
    let nodes = memo.graph().len();
    let mut beam = vec![Ranked::default()];
    let mut placed = 0;
    for node in 0..graph.len() {
        if memo.is_spent() {
            break;
        }
        placed = node + 1;
        let joins = memo.joins(placement.named(&[node])[0]);
        if joins {
            beam.truncate(states_before(graph.predecessors(node).len()));
        }
        let choices: Vec<Choice> =
            (0..beam.len()).flat_map(|position| choices(&beam, position, placement, (node, joins))).collect();
        memo.prepare(choices.iter().map(|choice| choice.named.clone()).collect());
        let priced = choices.into_iter().filter_map(|choice| {
            let cost = memo.price(&choice.named)?;
            let Ranked { total, state } = &beam[choice.position];
            Some(Priced { total: total - state.cost_of(&choice.joined) + cost, cost, choice })
        });
        let mut priced: Vec<Priced> = priced.collect();
        priced.sort_by(|a, b| a.total.total_cmp(&b.total));
        let largest = priced.iter().map(|priced| priced.choice.members.len()).max().unwrap_or(0);
        beam = best(&beam, graph, &priced, width(nodes, beam[0].state.open_groups(), largest));
    }
    let left = (placed..graph.len()).map(|node| NodeSet::from([node]));
    beam[0].state.groups().into_iter().chain(left).map(|group| placement.named(&group)).collect()
}

/// States that are kept of a search over so many nodes. What a state takes grows with its open groups, which are copied, and
/// with the square of the statements of the group that is composed for it.
fn width(nodes: usize, open: usize, composed: usize) -> usize {
    let tuning = &SearchTuning::DEFAULT.partition;
    let placements = tuning.beam_placements * tuning.few_open_groups * tuning.few_statements.pow(2);
    let weight = open.max(tuning.few_open_groups) * composed.max(tuning.few_statements).pow(2);
    (placements / (nodes.max(1) * weight)).clamp(tuning.narrowest_beam, tuning.widest_beam)
}

/// States that are kept before a node that reads so many others. Each state has choices of its own, and what a choice takes to
/// price grows with what the node reads.
fn states_before(reads: usize) -> usize {
    let tuning = &SearchTuning::DEFAULT.partition;
    let few = reads.min(tuning.few_read_groups);
    let choices = if reads <= tuning.all_subsets { 1 << reads } else { 2 + few + few * (few - 1) / 2 };
    (tuning.beam_reads / (choices * reads.max(1))).clamp(tuning.narrowest_beam, tuning.widest_beam)
}

/// A state and the cost of all its groups.
#[derive(Default)]
struct Ranked {
    total: f64,
    state: State,
}

/// A node joining open groups of a state of the beam.
struct Choice {
    position: usize,
    joined: Vec<usize>,
    read: Vec<usize>,
    /// The group that results, by place.
    members: NodeSet,
    /// The same as the problem numbers its nodes.
    named: NodeSet,
}

/// A choice, what its group costs, and all groups after it.
struct Priced {
    total: f64,
    cost: f64,
    choice: Choice,
}

/// What a node, which may join others or not, can do in a state of the beam.
fn choices(beam: &[Ranked], position: usize, placement: &Placement, (node, joins): (usize, bool)) -> Vec<Choice> {
    let state = &beam[position].state;
    let read = state.read_by(placement.graph(), node);
    let choice = |joined: Vec<usize>| {
        let members = state.union(node, &joined);
        let named = placement.named(&members);
        Choice { position, joined, read: read.clone(), members, named }
    };
    if !joins {
        return vec![choice(Vec::new())];
    }
    let companions = state.companions(node, &read);
    subsets(&read, &companions).into_iter().map(choice).collect()
}

/// The cheapest states after these choices, at most `width` and no two with the same future. `priced` is ascending.
fn best(beam: &[Ranked], graph: &DependenceGraph, priced: &[Priced], width: usize) -> Vec<Ranked> {
    let place = |Priced { total, cost, choice }: &Priced| {
        let before = &beam[choice.position].state;
        let state = before.place(graph, choice.members.clone(), *cost, &choice.joined, &choice.read);
        Ranked { total: *total, state }
    };
    let mut kept: Vec<Ranked> = Vec::with_capacity(width);
    for next in priced.iter().map(place) {
        if !kept.iter().any(|other| next.state.has_future_of(&other.state)) {
            kept.push(next);
        }
        if kept.len() == width {
            break;
        }
    }
    kept
}

/// The sets of groups that a node may join, the empty one included. Groups join with their companions alone.
fn subsets(read: &[usize], companions: &[Option<Vec<usize>>]) -> Vec<Vec<usize>> {
    let able: Vec<(usize, &[usize])> =
        read.iter().zip(companions).filter_map(|(&group, needed)| Some((group, needed.as_deref()?))).collect();
    let complete = |joined: &[(usize, &[usize])]| {
        let is_joined = |group: &usize| joined.iter().any(|(other, _)| other == group);
        joined.iter().all(|(_, needed)| needed.iter().all(is_joined))
    };
    let named = |joined: &[(usize, &[usize])]| joined.iter().map(|(group, _)| *group).collect::<Vec<usize>>();
    let mut found = vec![Vec::new()];
    if read.len() <= SearchTuning::DEFAULT.partition.all_subsets {
        for mask in 1..1usize << able.len() {
            let chosen: Vec<_> =
                able.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, &one)| one).collect();
            if complete(&chosen) {
                found.push(named(&chosen));
            }
        }
        return found;
    }
    if able.len() == read.len() && complete(&able) {
        found.push(named(&able));
    }
    let able = &able[..able.len().min(SearchTuning::DEFAULT.partition.few_read_groups)];
    for (at, &first) in able.iter().enumerate() {
        if complete(&[first]) {
            found.push(vec![first.0]);
        }
        let pairs = able[at + 1..].iter().map(|&second| [first, second]);
        found.extend(pairs.filter(|pair| complete(pair)).map(|pair| named(&pair)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_beam_composes_is_bounded_however_long_its_groups_are() {
        let nodes = 150;
        let composed = |longest: usize| -> usize {
            (1..=nodes).map(|node| node.min(longest)).map(|size| width(nodes, 1, size) * size).sum()
        };
        assert!(composed(128) < 6 * composed(8));
        assert_eq!(width(nodes, 1, 1), width(nodes, 1, SearchTuning::DEFAULT.partition.few_statements));
        assert_eq!(width(nodes, 1, 128), SearchTuning::DEFAULT.partition.narrowest_beam);
    }
}
