//! Groups become kernels that compute what their expressions mean.

mod attention;
mod cases;
mod counts;
mod device;
mod graphs;
mod halves;
mod prepared;
mod printed;
mod samples;
mod spilling;
mod storage;
mod templates;
mod tensor_attention;
mod tensor_cases;
mod text;
mod variants;
mod weight_stationary;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("lowering", Duration::from_secs(540));
    samples::add(&mut suite);
    templates::add(&mut suite);
    halves::add(&mut suite);
    attention::add(&mut suite);
    counts::add(&mut suite);
    prepared::add(&mut suite);
    storage::add(&mut suite);
    text::add(&mut suite);
    device::add(&mut suite);
    spilling::add(&mut suite);
    graphs::add(&mut suite);
    graphs::add_mixed(&mut suite);
    tensor_cases::add(&mut suite);
    tensor_attention::add(&mut suite);
    weight_stationary::add(&mut suite);
    printed::add(&mut suite);
    suite.scans_at_least(50_000, 50);
    suite.run()
}
