//! The plan verifier against a brute-force closure, over changed plans of sample programs.

mod agreement;
mod counterexamples;
mod graphs;
mod half_storage;
mod mutants;
mod policies;
mod prefetch;
mod protocol;
mod random_plans;
mod residents;
mod scale;
mod segments;
mod states;
mod stress;
mod tagged_values;
mod ten_thousand;
mod unit_counters;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("plans", Duration::from_secs(540));
    agreement::add(&mut suite);
    agreement::add_models(&mut suite);
    protocol::add(&mut suite);
    protocol::add_models(&mut suite);
    counterexamples::add(&mut suite);
    graphs::add(&mut suite);
    half_storage::add_models(&mut suite);
    residents::add(&mut suite);
    policies::add(&mut suite);
    policies::add_models(&mut suite);
    policies::add_branches(&mut suite);
    prefetch::add(&mut suite);
    random_plans::add(&mut suite);
    scale::add(&mut suite);
    segments::add(&mut suite);
    tagged_values::add(&mut suite);
    states::add(&mut suite);
    stress::add(&mut suite);
    ten_thousand::add(&mut suite);
    suite.run()
}
