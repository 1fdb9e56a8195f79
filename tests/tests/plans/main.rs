//! The plan verifier against a brute-force closure, over changed plans of sample programs.

mod accesses;
mod agreement;
mod judge;
mod mutants;
mod order;
mod protocol;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("plans", Duration::from_secs(300));
    agreement::add(&mut suite);
    agreement::add_models(&mut suite);
    protocol::add(&mut suite);
    suite.run()
}
