//! Groups become kernels that compute what their expressions mean.

mod samples;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("lowering", Duration::from_secs(300));
    samples::add(&mut suite);
    suite.run()
}
