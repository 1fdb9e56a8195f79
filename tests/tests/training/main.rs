//! Gradients against differences, and training steps against PyTorch.

mod device_code;
mod differences;
mod dropouts;
mod fixtures;
mod kinks;
mod lookups;
mod losses;
mod operators;
mod options;
mod products;
mod statistics;
mod steps;
mod updates;
mod weights;
mod whole_models;

use std::process::ExitCode;
use std::time::Duration;

use warpweave_tests::suite::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::new("training", Duration::from_secs(780));
    operators::add(&mut suite);
    operators::add_node_tests(&mut suite);
    kinks::add(&mut suite);
    statistics::add(&mut suite);
    lookups::add(&mut suite);
    losses::add(&mut suite);
    whole_models::add(&mut suite);
    fixtures::add(&mut suite);
    options::add(&mut suite);
    dropouts::add(&mut suite);
    products::add(&mut suite);
    updates::add(&mut suite);
    weights::add(&mut suite);
    device_code::add(&mut suite);
    suite.run()
}
