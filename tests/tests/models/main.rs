//! Every exported model, against its exporter's output on every device that needs no GPU, and as device code.

mod cubins;
mod devices;
mod host;
mod precision;
mod reported;
mod search;
mod texts;
mod traces;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("models", Duration::from_secs(480));
    devices::add(&mut suite);
    cubins::add(&mut suite);
    host::add(&mut suite);
    precision::add(&mut suite);
    reported::add(&mut suite);
    search::add(&mut suite);
    texts::add(&mut suite);
    traces::add(&mut suite);
    suite.scans_at_least(120_000, 50);
    suite.run()
}
