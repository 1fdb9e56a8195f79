//! What is predicted of plans for what hand-written programs were measured at.

mod products;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("simulator", Duration::from_secs(120));
    products::add(&mut suite);
    suite.run()
}
