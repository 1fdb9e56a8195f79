//! The partition problem in the abstract: nodes that depend on one another, and a price for a set of them.

use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::partition::search::budget::Budget;

/// A set of nodes, ascending.
pub type NodeSet = Arc<[usize]>;

/// Who depends on whom. Nodes are numbered so that each comes after those that it depends on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DependenceGraph {
    predecessors: Vec<Vec<usize>>,
    successors: Vec<Vec<usize>>,
}

impl DependenceGraph {
    /// The graph in which node `n` depends on `predecessors[n]`, all smaller than `n`; repetitions count once.
    pub fn new(predecessors: Vec<Vec<usize>>) -> Self {
        let mut graph = Self { successors: vec![Vec::new(); predecessors.len()], predecessors: Vec::new() };
        for (node, named) in predecessors.into_iter().enumerate() {
            let mut distinct: Vec<usize> = Vec::with_capacity(named.len());
            for predecessor in named {
                assert!(predecessor < node, "nodes come after those that they depend on");
                // Readers are added in their order, so that a repetition finds its node last.
                if graph.successors[predecessor].last() != Some(&node) {
                    distinct.push(predecessor);
                    graph.successors[predecessor].push(node);
                }
            }
            graph.predecessors.push(distinct);
        }
        graph
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.predecessors.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.predecessors.is_empty()
    }

    /// The nodes that `node` depends on, in the order in which they were named.
    pub fn predecessors(&self, node: usize) -> &[usize] {
        &self.predecessors[node]
    }

    /// The nodes that depend on `node`, ascending.
    pub fn successors(&self, node: usize) -> &[usize] {
        &self.successors[node]
    }

    /// Whether every node depends on the one before it and on nothing else.
    pub fn is_chain(&self) -> bool {
        self.predecessors.iter().enumerate().all(|(node, named)| match node {
            0 => named.is_empty(),
            _ => *named == [node - 1],
        })
    }
}

/// A problem to partition: every node goes into one group; groups are connected, and the graph of groups has no cycle.
pub trait PartitionProblem: Sync {
    /// Who depends on whom.
    fn graph(&self) -> &DependenceGraph;

    /// The cost of these nodes as one group; `None` if they cannot be one. A single node always can.
    fn evaluate(&self, members: &NodeSet) -> Option<f64>;

    /// Whether a node can be in one group with others.
    fn joins(&self, node: usize) -> bool {
        let _ = node;
        true
    }
}

/// Prices of sets, each asked of the problem once, for a search within a budget.
pub struct Memo<'a, P> {
    problem: &'a P,
    budget: Budget<'a>,
    prices: FxHashMap<NodeSet, Option<f64>>,
}

impl<'a, P: PartitionProblem> Memo<'a, P> {
    /// An empty memo of a search without limit.
    pub fn new(problem: &'a P) -> Self {
        Self::within(problem, Budget::unlimited())
    }

    /// An empty memo of a search within a budget.
    pub fn within(problem: &'a P, budget: Budget<'a>) -> Self {
        Self { problem, budget, prices: FxHashMap::default() }
    }

    /// Whether the search should end.
    pub fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// Who depends on whom.
    pub fn graph(&self) -> &'a DependenceGraph {
        self.problem.graph()
    }

    /// Whether a node can be in one group with others.
    pub fn joins(&self, node: usize) -> bool {
        self.problem.joins(node)
    }

    /// Sets that were priced.
    pub fn len(&self) -> usize {
        self.prices.len()
    }

    /// Whether nothing was priced.
    pub fn is_empty(&self) -> bool {
        self.prices.is_empty()
    }

    /// Prices sets, in parallel where they are new.
    pub fn prepare(&mut self, sets: Vec<NodeSet>) {
        let mut new: Vec<NodeSet> = sets.into_iter().filter(|set| !self.prices.contains_key(set)).collect();
        new.sort_unstable();
        new.dedup();
        let price = |set: &NodeSet| self.problem.evaluate(set);
        // Most steps of a search meet one new set or none, for which waking other threads would take longer than pricing.
        let priced: Vec<Option<f64>> =
            if new.len() < 2 { new.iter().map(price).collect() } else { new.par_iter().map(price).collect() };
        self.prices.extend(new.into_iter().zip(priced));
    }

    /// The price of a set.
    pub fn price(&mut self, set: &NodeSet) -> Option<f64> {
        if let Some(known) = self.prices.get(set) {
            return *known;
        }
        let price = self.problem.evaluate(set);
        self.prices.insert(set.clone(), price);
        price
    }

    /// The price of a node alone.
    pub fn single(&mut self, node: usize) -> f64 {
        self.price(&NodeSet::from([node])).expect("a single node is a group")
    }
}

/// Groups of nodes and what they cost together.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    /// The groups, ascending by their first nodes.
    pub groups: Vec<NodeSet>,
    /// The sum of their costs.
    pub cost: f64,
}

impl Solution {
    /// These groups, priced in order.
    pub fn new<P: PartitionProblem>(mut groups: Vec<NodeSet>, memo: &mut Memo<'_, P>) -> Self {
        groups.sort_unstable();
        let cost = groups.iter().map(|group| memo.price(group).expect("a chosen group has a price")).sum();
        Self { groups, cost }
    }

    /// Every node by itself.
    pub fn singletons<P: PartitionProblem>(memo: &mut Memo<'_, P>) -> Self {
        Self::new((0..memo.graph().len()).map(|node| NodeSet::from([node])).collect(), memo)
    }
}

/// The union of sets.
pub fn union<'a>(sets: impl IntoIterator<Item = &'a NodeSet>) -> NodeSet {
    let mut members: Vec<usize> = sets.into_iter().flat_map(|set| set.iter().copied()).collect();
    members.sort_unstable();
    members.dedup();
    members.into()
}
