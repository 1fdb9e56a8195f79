//! Plans and hand-written programs for what was measured on a GPU: what is predicted of them against the measurements.

mod products;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("simulator", Duration::from_secs(120));
    products::add(&mut suite);
    suite.run()
}
