//! A partial partition: the nodes up to a point, in groups that may grow and groups that no later node can join.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::problem::{DependenceGraph, NodeSet};

/// A group that a later node may join.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct OpenGroup {
    pub(super) members: NodeSet,
    pub(super) cost: f64,
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
pub(super) struct State {
    /// Ascending by first member.
    open: Vec<OpenGroup>,
    /// Ascending.
    dependences: Vec<Dependence>,
    closed: Option<Arc<Closed>>,
    closed_cost: f64,
}

/// What decides everything that can still happen to a state: of states with equal keys, only the cheapest can win.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    open: Vec<NodeSet>,
    indirect: Vec<(u32, u32)>,
}

impl Hash for Key {
    // First members and sizes tell states apart well enough; dependences may be many.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mix = |sum: usize, group: &NodeSet| sum.wrapping_mul(31).wrapping_add(group[0] ^ group.len() << 20);
        state.write_usize(self.open.iter().fold(0, mix));
    }
}

impl State {
    /// The cost of all groups as they are.
    pub(super) fn cost(&self) -> f64 {
        self.closed_cost + self.open.iter().map(|group| group.cost).sum::<f64>()
    }

    /// The state's key.
    pub(super) fn key(&self) -> Key {
        let indirect = self.dependences.iter().filter(|dependence| dependence.indirect);
        Key {
            open: self.open.iter().map(|group| group.members.clone()).collect(),
            indirect: indirect.map(|dependence| (dependence.from, dependence.to)).collect(),
        }
    }

    /// The open groups on which `node` depends: their positions, in the order in which the graph names them.
    pub(super) fn read_by(&self, graph: &DependenceGraph, node: usize) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for predecessor in graph.predecessors(node) {
            let holds = |group: &OpenGroup| group.members.binary_search(predecessor).is_ok();
            let position = self.open.iter().position(holds).expect("a group with an unplaced reader is open");
            if !found.contains(&position) {
                found.push(position);
            }
        }
        found
    }

    /// The members of `node` with the open groups `joined`, or `None` if that makes a cycle among the groups. `read` are
    /// all the open groups on which the node depends.
    pub(super) fn union(&self, node: usize, joined: &[usize], read: &[usize]) -> Option<NodeSet> {
        if !joined.is_empty() && self.makes_cycle(joined, read) {
            return None;
        }
        let mut members: Vec<usize> = joined.iter().flat_map(|&at| self.open[at].members.iter().copied()).collect();
        members.sort_unstable();
        members.push(node);
        Some(members.into())
    }

    /// Whether a path leaves the joined groups and comes back, to them or to a group that the new node reads.
    fn makes_cycle(&self, joined: &[usize], read: &[usize]) -> bool {
        let inside = |name: u32| joined.iter().any(|&at| self.open[at].name() == name);
        let target = |name: u32| inside(name) || read.iter().any(|&at| self.open[at].name() == name);
        let mut stack: Vec<u32> = Vec::new();
        for dependence in joined.iter().flat_map(|&at| self.dependences_from(self.open[at].name())) {
            match (inside(dependence.to), dependence.indirect) {
                (true, true) => return true,
                (true, false) => {}
                (false, _) => stack.push(dependence.to),
            }
        }
        let mut seen: HashSet<u32> = HashSet::new();
        while let Some(name) = stack.pop() {
            if target(name) {
                return true;
            }
            if seen.insert(name) {
                stack.extend(self.dependences_from(name).iter().map(|other| other.to));
            }
        }
        false
    }

    fn dependences_from(&self, name: u32) -> &[Dependence] {
        let first = self.dependences.partition_point(|dependence| dependence.from < name);
        let count = self.dependences[first..].partition_point(|dependence| dependence.from == name);
        &self.dependences[first..first + count]
    }

    /// The state after `node` has joined the groups `joined` as `members` at this cost.
    pub(super) fn place(
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
        for dependence in &mut next.dependences {
            for end in [&mut dependence.from, &mut dependence.to] {
                if names.contains(end) {
                    *end = name;
                }
            }
        }
        let read = read.iter().map(|&at| self.open[at].name()).filter(|other| !names.contains(other));
        next.dependences.extend(read.map(|from| Dependence { from, to: name, indirect: false }));
        let joined_readers = joined.iter().map(|&at| self.open[at].last_reader);
        let last_reader = joined_readers.chain(graph.successors(node).last().copied()).max().unwrap_or(0);
        next.open.retain(|group| !names.contains(&group.name()));
        let position = next.open.partition_point(|group| group.name() < name);
        next.open.insert(position, OpenGroup { members, cost, last_reader });
        next.dependences.retain(|dependence| dependence.from != dependence.to);
        next.tidy();
        next.close(node);
        next
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
            self.closed_cost += group.cost;
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

    /// All groups.
    pub(super) fn groups(&self) -> Vec<NodeSet> {
        let mut groups: Vec<NodeSet> = self.open.iter().map(|group| group.members.clone()).collect();
        let mut next = &self.closed;
        while let Some(closed) = next {
            groups.push(closed.group.clone());
            next = &closed.before;
        }
        groups
    }
}
