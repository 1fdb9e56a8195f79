//! A partial partition: the nodes up to a point, in groups that may grow and groups that no later node can join.

use std::sync::Arc;

use crate::partition::search::problem::{DependenceGraph, NodeSet};

/// A group that a later node may join.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OpenGroup {
    pub(crate) members: NodeSet,
    pub(crate) cost: f64,
    /// The largest node that depends on a member.
    last_reader: usize,
}

impl OpenGroup {
    fn name(&self) -> u32 {
        name(&self.members)
    }
}

/// A group's name: its first member.
fn name(members: &NodeSet) -> u32 {
    u32::try_from(members[0]).expect("a program has fewer than 2^32 statements")
}

/// A dependence of one open group on another, by name. Where many groups are open there are very many, so they are small.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Dependence {
    from: u32,
    to: u32,
    /// Whether it passes through closed groups: the two can never merge without a cycle.
    indirect: bool,
}

/// Closed groups, newest first.
#[derive(Debug)]
struct Closed {
    group: NodeSet,
    before: Option<Arc<Closed>>,
}

/// A choice of groups for the nodes so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Ascending by first member.
    open: Vec<OpenGroup>,
    /// Ascending.
    dependences: Vec<Dependence>,
    closed: Option<Arc<Closed>>,
    /// Tells most states with different futures apart.
    fingerprint: u64,
}

impl State {
    /// Whether everything that can still happen to one can happen to the other: only the cheaper of two can win.
    pub(crate) fn has_future_of<'a>(&'a self, other: &'a Self) -> bool {
        let indirect = |state: &'a Self| state.dependences.iter().filter(|dependence| dependence.indirect);
        self.fingerprint == other.fingerprint
            && self.open.iter().map(|group| &group.members).eq(other.open.iter().map(|group| &group.members))
            && indirect(self).eq(indirect(other))
    }

    /// How many groups are open.
    pub(crate) fn open_groups(&self) -> usize {
        self.open.len()
    }

    /// What the open groups at these positions cost.
    pub(crate) fn cost_of(&self, positions: &[usize]) -> f64 {
        positions.iter().map(|&at| self.open[at].cost).sum()
    }

    /// The open groups on which `node` depends: their positions, in the order in which the graph names them.
    pub(crate) fn read_by(&self, graph: &DependenceGraph, node: usize) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for predecessor in graph.predecessors(node) {
            let holds = |group: &OpenGroup| {
                let members = &group.members;
                members[0] <= *predecessor
                    && members.last() >= Some(predecessor)
                    && members.binary_search(predecessor).is_ok()
            };
            let position = self.open.iter().position(holds).expect("a group with an unplaced reader is open");
            if !found.contains(&position) {
                found.push(position);
            }
        }
        found
    }

    /// The members of `node` with the open groups at these positions.
    pub(crate) fn union(&self, node: usize, joined: &[usize]) -> NodeSet {
        let mut members: Vec<usize> = joined.iter().flat_map(|&at| self.open[at].members.iter().copied()).collect();
        members.sort_unstable();
        members.push(node);
        members.into()
    }

    /// For each of the open groups `read` that a new node reads: which of them have to join the node with it. They have
    /// to because a path leads through them from the group to the node. `None` for a group whose joining always makes a
    /// cycle among the groups.
    pub(crate) fn companions(&self, node: usize, read: &[usize]) -> Vec<Option<Vec<usize>>> {
        let names: Vec<u32> = read.iter().map(|&at| self.open[at].name()).collect();
        let mut paths = Paths { state: self, targets: vec![false; node], aside: vec![false; node] };
        names.iter().for_each(|&name| paths.targets[name as usize] = true);
        let companions = |&name: &u32| {
            let mut needed: Vec<usize> = Vec::new();
            for dependence in self.dependences_from(name) {
                match names.iter().position(|&other| other == dependence.to) {
                    Some(at) if !dependence.indirect => needed.push(read[at]),
                    None if !paths.reach(dependence.to) => {}
                    _ => return None,
                }
            }
            Some(needed)
        };
        names.iter().map(companions).collect()
    }

    fn dependences_from(&self, name: u32) -> &[Dependence] {
        let first = self.dependences.partition_point(|dependence| dependence.from < name);
        let count = self.dependences[first..].partition_point(|dependence| dependence.from == name);
        &self.dependences[first..first + count]
    }

    /// The state after `node` has joined the groups `joined` as `members` at this cost.
    pub(crate) fn place(
        &self,
        graph: &DependenceGraph,
        members: NodeSet,
        cost: f64,
        joined: &[usize],
        read: &[usize],
    ) -> Self {
        let node = *members.last().expect("the node itself is a member");
        let mut next = self.clone();
        let names: Vec<u32> = joined.iter().map(|&at| self.open[at].name()).collect();
        let name = name(&members);
        if !names.is_empty() {
            next.rename(&names, name);
        }
        let read = read.iter().map(|&at| self.open[at].name()).filter(|other| !names.contains(other));
        read.for_each(|from| next.depend(Dependence { from, to: name, indirect: false }));
        let joined_readers = joined.iter().map(|&at| self.open[at].last_reader);
        let last_reader = joined_readers.chain(graph.successors(node).last().copied()).max().unwrap_or(0);
        next.open.retain(|group| !names.contains(&group.name()));
        let position = next.open.partition_point(|group| group.name() < name);
        next.open.insert(position, OpenGroup { members, cost, last_reader });
        next.close(node);
        next.fingerprint = next.open.iter().fold(0, |sum: u64, group| {
            let group = (group.members[0] as u64) ^ (group.members.len() as u64) << 32;
            (sum ^ group).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        next
    }

    /// The dependences of the groups `names`, which are one group now, are that group's.
    fn rename(&mut self, names: &[u32], to: u32) {
        for dependence in &mut self.dependences {
            for end in [&mut dependence.from, &mut dependence.to] {
                if names.contains(end) {
                    *end = to;
                }
            }
        }
        self.dependences.retain(|dependence| dependence.from != dependence.to);
        self.tidy();
    }

    /// Adds a dependence, unless it is there.
    fn depend(&mut self, dependence: Dependence) {
        if let Err(at) = self.dependences.binary_search(&dependence) {
            self.dependences.insert(at, dependence);
        }
    }

    /// Closes the groups that no node after `node` depends on.
    fn close(&mut self, node: usize) {
        while let Some(position) = self.open.iter().position(|group| group.last_reader <= node) {
            let group = self.open.remove(position);
            let name = group.name();
            let ends = |dependence: &Dependence| (dependence.from, dependence.to);
            let into: Vec<u32> =
                self.dependences.iter().map(ends).filter(|ends| ends.1 == name).map(|ends| ends.0).collect();
            let from: Vec<u32> =
                self.dependences.iter().map(ends).filter(|ends| ends.0 == name).map(|ends| ends.1).collect();
            self.dependences.retain(|dependence| dependence.from != name && dependence.to != name);
            let through = into.iter().flat_map(|&from_group| from.iter().map(move |&to| (from_group, to)));
            self.dependences.extend(through.map(|(from, to)| Dependence { from, to, indirect: true }));
            self.closed = Some(Arc::new(Closed { group: group.members, before: self.closed.take() }));
            // Where many groups close at once, repeated paths would multiply.
            self.tidy();
        }
    }

    /// Orders the dependences and drops repetitions. They are in order but for a few, which a stable sort makes use of.
    fn tidy(&mut self) {
        self.dependences.sort();
        self.dependences.dedup();
    }

    pub(crate) fn groups(&self) -> Vec<NodeSet> {
        let mut groups: Vec<NodeSet> = self.open.iter().map(|group| group.members.clone()).collect();
        let mut next = &self.closed;
        while let Some(closed) = next {
            groups.push(closed.group.clone());
            next = &closed.before;
        }
        groups
    }
}

/// Paths along the dependences of a state, to targets.
struct Paths<'a> {
    state: &'a State,
    /// By name.
    targets: Vec<bool>,
    /// By name: from here no path leads to a target.
    aside: Vec<bool>,
}

impl Paths<'_> {
    /// Whether a path from `name`, which is no target, reaches one.
    fn reach(&mut self, name: u32) -> bool {
        let mut seen: Vec<u32> = Vec::new();
        let mut stack = vec![name];
        while let Some(name) = stack.pop() {
            if self.targets[name as usize] {
                seen.iter().for_each(|&passed| self.aside[passed as usize] = false);
                return true;
            }
            if !std::mem::replace(&mut self.aside[name as usize], true) {
                seen.push(name);
                stack.extend(self.state.dependences_from(name).iter().map(|dependence| dependence.to));
            }
        }
        false
    }
}
