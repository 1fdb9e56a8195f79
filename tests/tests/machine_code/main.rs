//! The machine code that ships, executed: models against their exporters' outputs, and changes of code that must show.

mod bits;
mod mismatches;
mod models;
mod mutants;
mod targets;
mod waits;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("machine-code", Duration::from_secs(420));
    models::add(&mut suite);
    targets::add(&mut suite);
    bits::add(&mut suite);
    mutants::add(&mut suite);
    waits::add(&mut suite);
    mismatches::add(&mut suite);
    suite.scans_at_least(40_000, 45);
    suite.run()
}
