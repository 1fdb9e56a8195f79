//! Searches that end before they are done.

use crate::closure;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpweave_fusion::partition::search::budget::Budget;
use warpweave_fusion::partition::search::problem::{Memo, PartitionProblem, Solution};
use warpweave_fusion::partition::search::solve;

use crate::synthetic::{ArbitraryChain, Synthetic};

/// The solution of a search that is told to end when it has asked `questions` times.
fn within<P: PartitionProblem>(problem: &P, questions: usize) -> Solution {
    let asked = AtomicUsize::new(0);
    let is_spent = || asked.fetch_add(1, Ordering::Relaxed) >= questions;
    let mut memo = Memo::within(problem, Budget::until(&is_spent));
    let found = solve(&mut memo);
    let unfused = Solution::singletons(&mut memo);
    assert!(found.cost <= unfused.cost, "after {questions}: {} for {} unfused", found.cost, unfused.cost);
    let mut nodes: Vec<usize> = found.groups.iter().flat_map(|group| group.iter().copied()).collect();
    nodes.sort_unstable();
    assert!(nodes.into_iter().eq(0..problem.graph().len()), "every node is in one group");
    assert!(closure::is_acyclic(&found.groups, &memo));
    found
}

fn check<P: PartitionProblem>(problem: &P) {
    let whole = solve(&mut Memo::new(problem));
    let unfused = Solution::singletons(&mut Memo::new(problem));
    assert_eq!(within(problem, 0), unfused, "nothing is merged in no time");
    let costs: Vec<f64> = (0..200).step_by(7).map(|questions| within(problem, questions).cost).collect();
    assert!(costs.iter().any(|cost| *cost < unfused.cost && *cost > whole.cost), "some end in between");
    assert_eq!(within(problem, usize::MAX), whole);
}

#[test]
fn the_best_so_far_is_a_partition_at_any_time() {
    for seed in 0..3 {
        check(&Synthetic::random(40, seed));
    }
}

#[test]
fn the_best_so_far_of_a_chain_is_a_partition_at_any_time() {
    for seed in 0..3 {
        check(&ArbitraryChain::new(40, seed));
    }
}
