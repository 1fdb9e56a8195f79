//! Beam search over merge sequences: nodes are placed one after another, each by itself or merged into groups that it
//! reads.
//!
//! States that can still develop in the same ways are compared by cost and only the cheapest stays, so the beam is spent
//! on choices that matter; a beam that is never full is exact where every connected beginning of a possible group is
//! possible too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rayon::prelude::*;

use super::order::Placement;
use super::problem::{Memo, NodeSet, PartitionProblem, Solution};
use super::state::{Key, State};

/// States that are kept at most.
const WIDEST: usize = 128;
/// States that are kept at least.
const NARROWEST: usize = 8;
/// States that may be placed over a whole search.
const PLACEMENTS: usize = 60_000;
/// A node that reads more groups than this joins one, two or all of them.
const ALL_SUBSETS: usize = 5;

/// The best partition that a beam finds, its width fitted to the number of nodes; nodes that a spent budget leaves over
/// stay by themselves.
pub fn solve<P: PartitionProblem>(memo: &mut Memo<'_, P>) -> Solution {
    let placement = Placement::of(memo.graph());
    let graph = placement.graph();
    let width = (PLACEMENTS / graph.len().max(1)).clamp(NARROWEST, WIDEST);
    let mut beam = vec![State::default()];
    let mut placed = 0;
    for node in 0..graph.len() {
        if memo.is_spent() {
            break;
        }
        placed = node + 1;
        let choices = |(position, state): (usize, &State)| {
            let read = state.read_by(graph, node);
            let choice = |joined: Vec<usize>| {
                let members = state.union(node, &joined, &read)?;
                let named = placement.named(&members);
                Some(Choice { position, joined, read: read.clone(), members, named })
            };
            subsets(&read).into_iter().filter_map(choice).collect::<Vec<_>>()
        };
        let options: Vec<Vec<Choice>> = beam.par_iter().enumerate().map(choices).collect();
        let options: Vec<Choice> = options.into_iter().flatten().collect();
        memo.prepare(options.iter().map(|choice| choice.named.clone()).collect());
        let priced = options.into_iter().filter_map(|choice| Some((memo.price(&choice.named)?, choice)));
        let priced: Vec<(f64, Choice)> = priced.collect();
        let place = |(cost, Choice { position, joined, read, members, .. }): (f64, Choice)| {
            let state = beam[position].place(graph, members, cost, &joined, &read);
            (state.key(), state)
        };
        let states: Vec<(Key, State)> = priced.into_par_iter().map(place).collect();
        let mut next: HashMap<Key, State> = HashMap::new();
        for (key, state) in states {
            match next.entry(key) {
                Entry::Vacant(entry) => _ = entry.insert(state),
                Entry::Occupied(mut entry) if state.cost() < entry.get().cost() => _ = entry.insert(state),
                Entry::Occupied(_) => {}
            }
        }
        let mut ranked: Vec<(f64, Key, State)> =
            next.into_iter().map(|(key, state)| (state.cost(), key, state)).collect();
        let better = |a: &(f64, Key, State), b: &(f64, Key, State)| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1));
        if ranked.len() > width {
            ranked.select_nth_unstable_by(width, better);
            ranked.truncate(width);
        }
        ranked.sort_unstable_by(better);
        beam = ranked.into_iter().map(|(_, _, state)| state).collect();
    }
    let left = (placed..graph.len()).map(|node| NodeSet::from([node]));
    let groups = beam[0].groups().into_iter().chain(left).map(|group| placement.named(&group));
    Solution::new(groups.collect(), memo)
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

/// The sets of groups that a node may join, the empty one included.
fn subsets(read: &[usize]) -> Vec<Vec<usize>> {
    if read.len() <= ALL_SUBSETS {
        let chosen = |mask: usize| read.iter().enumerate().filter(move |(bit, _)| mask >> bit & 1 == 1);
        return (0..1usize << read.len()).map(|mask| chosen(mask).map(|(_, &group)| group).collect()).collect();
    }
    let mut found = vec![Vec::new(), read.to_vec()];
    for (at, &first) in read.iter().enumerate() {
        found.push(vec![first]);
        found.extend(read[at + 1..].iter().map(|&second| vec![first, second]));
    }
    found
}
