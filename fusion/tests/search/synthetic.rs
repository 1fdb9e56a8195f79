//! Random partition problems.

use std::collections::HashMap;

use warpweave_fusion::partition::search::problem::{DependenceGraph, NodeSet, PartitionProblem};

/// Pseudo-random numbers from a seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// 0 … bound − 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// In [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A group costs its members, minus savings on internal edges, plus a penalty for what exceeds a capacity.
pub struct Synthetic {
    pub graph: DependenceGraph,
    pub costs: Vec<f64>,
    pub sizes: Vec<f64>,
    pub savings: HashMap<(usize, usize), f64>,
    pub capacity: f64,
    pub penalty: f64,
}

impl Synthetic {
    pub fn random(nodes: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new()];
        for node in 1..nodes {
            let count = 1 + random.below(3);
            let near = node.saturating_sub(5);
            predecessors.push((0..count).map(|_| near + random.below(node - near)).collect());
        }
        let graph = DependenceGraph::new(predecessors);
        let edges = (0..nodes).flat_map(|node| graph.predecessors(node).iter().map(move |&from| (from, node)));
        let savings = edges.map(|edge| (edge, random.between(0.2, 2.5))).collect();
        Self {
            graph,
            costs: (0..nodes).map(|_| random.between(3.0, 9.0)).collect(),
            sizes: (0..nodes).map(|_| random.between(1.0, 4.0)).collect(),
            savings,
            capacity: random.between(5.0, 12.0),
            penalty: random.between(0.3, 2.0),
        }
    }
}

impl PartitionProblem for Synthetic {
    fn graph(&self) -> &DependenceGraph {
        &self.graph
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        let cost: f64 = members.iter().map(|&node| self.costs[node]).sum();
        let size: f64 = members.iter().map(|&node| self.sizes[node]).sum();
        let inside = |node: &usize| members.binary_search(node).is_ok();
        let internal =
            members.iter().flat_map(|&node| self.graph.predecessors(node).iter().map(move |&from| (from, node)));
        let saved: f64 = internal.filter(|(from, _)| inside(from)).map(|edge| self.savings[&edge]).sum();
        Some(cost - saved + self.penalty * (size - self.capacity).max(0.0))
    }
}

/// A chain in which every interval has a cost of its own; intervals of several nodes may be impossible.
pub struct ArbitraryChain {
    pub graph: DependenceGraph,
    pub seed: u64,
}

impl ArbitraryChain {
    pub fn new(nodes: usize, seed: u64) -> Self {
        let predecessors = (0..nodes).map(|node| node.checked_sub(1).into_iter().collect());
        Self { graph: DependenceGraph::new(predecessors.collect()), seed }
    }
}

impl PartitionProblem for ArbitraryChain {
    fn graph(&self) -> &DependenceGraph {
        &self.graph
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        let (first, last) = (members[0] as u64, members[members.len() - 1] as u64);
        let mut random = Random(self.seed ^ (first << 32) ^ (last << 8));
        let cost = random.between(0.5, 1.5) * members.len() as f64;
        (members.len() == 1 || random.below(4) > 0).then_some(cost)
    }
}
