//! The search against the optimum.

use crate::closure;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpweave_fusion::partition::search::problem::{DependenceGraph, Memo, NodeSet, PartitionProblem, Solution};
use warpweave_fusion::partition::search::{beam, chain, greedy, solve};

use crate::exhaustive::optimum;
use crate::synthetic::{ArbitraryChain, Random, Synthetic};

#[test]
fn five_hundred_random_graphs() {
    let mut random = Random(2021);
    let (mut optimal, mut worst, mut greedy_optimal) = (0, 1.0f64, 0);
    for seed in 0..500 {
        let problem = Synthetic::random(8 + random.below(7), seed);
        let mut memo = Memo::new(&problem);
        let found = solve(&mut memo);
        assert!(closure::is_acyclic(&found.groups, &memo), "seed {seed}");
        let mut covered: Vec<usize> = found.groups.iter().flat_map(|group| group.iter().copied()).collect();
        covered.sort_unstable();
        assert_eq!(covered, (0..problem.graph.len()).collect::<Vec<_>>(), "seed {seed}");
        let ratio = found.cost / optimum(&problem);
        assert!(ratio > 1.0 - 1e-9, "seed {seed}: better than the optimum");
        let singletons = Solution::singletons(&mut memo);
        greedy_optimal += usize::from(greedy::improve(singletons, &mut memo).cost / optimum(&problem) < 1.0 + 1e-9);
        optimal += usize::from(ratio < 1.0 + 1e-9);
        worst = worst.max(ratio);
    }
    eprintln!("optimal {optimal} of 500, worst ratio {worst:.4}; merging of neighbours alone {greedy_optimal}");
    assert!(optimal >= 475, "{optimal} of 500");
    assert!(worst <= 1.05, "{worst}");
}

#[test]
fn chains_with_arbitrary_costs_are_exact() {
    for seed in 0..60 {
        let problem = ArbitraryChain::new(2 + seed as usize % 12, seed);
        let expected = optimum(&problem);
        for (name, found) in
            [("dynamic programming", chain::solve(&mut Memo::new(&problem))), ("all", solve(&mut Memo::new(&problem)))]
        {
            assert!((found.cost - expected).abs() < 1e-9, "{name}, seed {seed}: {} for {expected}", found.cost);
        }
    }
}

/// A chain of 53 nodes has 1,431 groups (erratum E9).
#[test]
fn a_chain_prices_every_interval_once() {
    let problem = ArbitraryChain::new(53, 7);
    let mut memo = Memo::new(&problem);
    chain::solve(&mut memo);
    assert_eq!(memo.len(), 1_431);
}

struct AlwaysCheaper(DependenceGraph);

impl PartitionProblem for AlwaysCheaper {
    fn graph(&self) -> &DependenceGraph {
        &self.0
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        Some(1.0 + members.len() as f64)
    }
}

/// The thesis' worked example, A → B → C with every fusion profitable; and erratum E9's count for longer chains.
#[test]
fn the_published_algorithm_collects_four_partitions_of_three() {
    for (nodes, expected) in [(3, 4), (8, 128)] {
        let problem = AlwaysCheaper(ArbitraryChain::new(nodes, 0).graph);
        let found = closure::partitions(&mut Memo::new(&problem), 1 << 16);
        assert_eq!(found.len(), expected);
    }
    let problem = AlwaysCheaper(ArbitraryChain::new(3, 0).graph);
    let shapes: Vec<Vec<usize>> = closure::partitions(&mut Memo::new(&problem), 100)
        .iter()
        .map(|solution| solution.groups.iter().map(|group| group.len()).collect())
        .collect();
    assert_eq!(shapes, [vec![1, 1, 1], vec![2, 1], vec![1, 2], vec![3]]);
}

/// A diamond whose sides must not be merged around its middle: {0, 3} would leave and come back.
#[test]
fn groups_never_form_a_cycle() {
    let graph = DependenceGraph::new(vec![vec![], vec![0], vec![0], vec![0, 1, 2]]);
    struct Ends(DependenceGraph);
    impl PartitionProblem for Ends {
        fn graph(&self) -> &DependenceGraph {
            &self.0
        }
        fn evaluate(&self, members: &NodeSet) -> Option<f64> {
            Some(if **members == [0, 3] { 0.0 } else { members.len() as f64 })
        }
    }
    let problem = Ends(graph);
    let mut memo = Memo::new(&problem);
    for found in [beam::solve(&mut memo), solve(&mut memo)] {
        assert!(closure::is_acyclic(&found.groups, &memo));
        assert_eq!(found.cost, 4.0);
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    for seed in 0..5 {
        let problem = Synthetic::random(60, seed);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool starts");
            pool.install(|| solve(&mut Memo::new(&problem)))
        };
        assert_eq!(with(1), with(4), "seed {seed}");
    }
}

/// Three thousand nodes are searched within seconds.
#[test]
fn long_programs_are_searched_with_a_narrow_beam() {
    let problem = Synthetic::random(3_000, 1);
    let start = std::time::Instant::now();
    let mut memo = Memo::new(&problem);
    let found = solve(&mut memo);
    let singletons = Solution::singletons(&mut memo);
    let bar = greedy::improve(singletons, &mut memo);
    eprintln!(
        "3,000 nodes: {:?}, cost {:.1}, merging of neighbours alone {:.1}",
        start.elapsed(),
        found.cost,
        bar.cost
    );
    assert!(found.cost <= bar.cost);
}

/// A problem where every merge pays, and how many nodes all sets had that were priced.
struct Counted(AlwaysCheaper, AtomicUsize);

impl PartitionProblem for Counted {
    fn graph(&self) -> &DependenceGraph {
        self.0.graph()
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        self.1.fetch_add(members.len(), Ordering::Relaxed);
        self.0.evaluate(members)
    }
}

/// Pairs of nodes whose ends one node reads. The states before it differ in the pairs that are one group, and in each of them the
/// largest set has all pairs.
#[test]
fn a_node_that_reads_many_groups_is_priced_in_few_states() {
    let pairs = 64;
    let mut predecessors: Vec<Vec<usize>> = (0..pairs).flat_map(|pair| [vec![], vec![2 * pair]]).collect();
    predecessors.push((0..pairs).map(|pair| 2 * pair + 1).collect());
    let problem = Counted(AlwaysCheaper(DependenceGraph::new(predecessors)), AtomicUsize::new(0));
    let found = beam::solve(&mut Memo::new(&problem));
    assert_eq!(found.groups.len(), 1);
    let priced = problem.1.into_inner();
    assert!(priced < 4_000, "sets of {priced} nodes were priced");
}

struct NothingFuses(DependenceGraph);

impl PartitionProblem for NothingFuses {
    fn graph(&self) -> &DependenceGraph {
        &self.0
    }

    fn evaluate(&self, members: &NodeSet) -> Option<f64> {
        (members.len() == 1).then_some(1.0)
    }
}

/// The steps of a recurrence that reads its input at every step, joined at the end while the input stays in use. As
/// many paths lead from the input to the last step as there are sets of steps.
#[test]
fn many_groups_that_close_at_once_are_searched_in_little_memory() {
    let steps = 60;
    let mut predecessors = vec![vec![]];
    predecessors.extend((1..=steps).map(|step| vec![0, step - 1]));
    predecessors.push((1..=steps).collect());
    predecessors.push(vec![0, steps + 1]);
    let problem = NothingFuses(DependenceGraph::new(predecessors));
    let found = beam::solve(&mut Memo::new(&problem));
    assert_eq!(found.groups.len(), problem.0.len());
}
