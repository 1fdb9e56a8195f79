//! The optimum over all partitions into connected groups without a cycle among them.
//!
//! It is found by dynamic programming over sets that are closed under predecessors. Some group comes last, and what is
//! left without it is closed too.

use warpweave_fusion::partition::search::problem::{NodeSet, PartitionProblem};

pub fn optimum(problem: &impl PartitionProblem) -> f64 {
    let graph = problem.graph();
    let nodes = graph.len();
    let neighbours: Vec<usize> = (0..nodes)
        .map(|node| {
            graph.predecessors(node).iter().chain(graph.successors(node)).fold(0, |set, &other| set | 1 << other)
        })
        .collect();
    let before: Vec<usize> =
        (0..nodes).map(|node| graph.predecessors(node).iter().fold(0, |set, &other| set | 1 << other)).collect();
    let members = |set: usize| (0..nodes).filter(move |node| set >> node & 1 == 1);
    let closed = |set: usize| members(set).all(|node| before[node] & !set == 0);
    let connected = |set: usize| {
        let mut reached = set & set.wrapping_neg();
        loop {
            let grown = members(reached).fold(reached, |all, node| all | neighbours[node]) & set;
            if grown == reached {
                return reached == set;
            }
            reached = grown;
        }
    };
    let sets = 1usize << nodes;
    let mut cost: Vec<Option<f64>> = vec![None; sets];
    let mut is_closed = vec![false; sets];
    for set in 0..sets {
        is_closed[set] = closed(set);
        if set > 0 && connected(set) {
            cost[set] = problem.evaluate(&members(set).collect::<NodeSet>());
        }
    }
    let mut best = vec![f64::INFINITY; sets];
    best[0] = 0.0;
    for set in (1..sets).filter(|&set| is_closed[set]) {
        let mut group = set;
        while group > 0 {
            if let (true, Some(cost)) = (is_closed[set & !group], cost[group]) {
                best[set] = best[set].min(best[set & !group] + cost);
            }
            group = (group - 1) & set;
        }
    }
    best[sets - 1]
}
