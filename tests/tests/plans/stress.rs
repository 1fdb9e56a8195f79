//! Threads that pause at random: whatever order they run in, a plan gives the same bytes.

use std::time::Duration;

use warpweave::graph::TensorProgram;
use warpweave::runtime::host::{Delays, HostSession, pack_weights};
use warpweave_tests::pipeline::host_plan;
use warpweave_tests::random::Random;
use warpweave_tests::suite::{Suite, is_full};
use warpweave_tests::{models, random};

const THREADS: usize = 4;
const LONGEST: Duration = Duration::from_micros(60);

/// Adds a trial a model.
pub fn add(suite: &mut Suite) {
    for model in models::by_turns() {
        suite.trial(format!("stress {}", model.name), move || check(&model.program()));
    }
}

fn check(program: &TensorProgram) {
    let runs = if is_full() { 1000 } else { 10 };
    let compiled = host_plan(program);
    let weights = pack_weights(&compiled.plan, |id| compiled.program.constant(id)).expect("constants are there");
    let inputs = random::indices(&mut Random::new(23), program);
    let mut session = HostSession::new(&compiled.plan, weights, THREADS).expect("the plan folds");
    let expected = session.run(&inputs).expect("the plan runs");
    for seed in 0..runs {
        let delays = Delays { seed, longest: LONGEST };
        let found = session.run_traced(&inputs, Some(delays)).expect("the plan runs");
        assert!(found == expected, "pauses of seed {seed} change the result");
    }
}
