//! The lab without a GPU: on host and emulator, on a stand-in driver that injects faults, and killed at random moments.

mod dry;
mod kills;
mod support;
mod whole;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use warpweave_tests::suite::{Selection, Suite, is_full};

/// Runs of the lab whose record was held against what it must be.
static CASES: AtomicUsize = AtomicUsize::new(0);

/// Counts a case that has passed.
pub fn count_case() {
    CASES.fetch_add(1, Ordering::Relaxed);
}

fn main() -> ExitCode {
    let mut suite = Suite::new("lab", Duration::from_secs(420));
    // The longest first: they wait for what hangs.
    let faults = dry::faults(is_full());
    for &fault in faults {
        suite.trial(format!("dry {}", fault.word()), move || dry::check(fault));
    }
    suite.trial("whole run, resumed", whole::check);
    suite.trial("budget", whole::check_budget);
    suite.trial("wrong outputs leave a case", whole::check_failure);
    suite.trial("programs of a GPU machine", whole::check_pretended);
    suite.trial("plan", whole::check_plan);
    let kills = if is_full() { 50 } else { 5 };
    suite.trial("kills", move || kills::check(kills));
    // Each of the trials above, the second run of the first one, and every kill.
    let floor = 5 + 1 + faults.len() + kills;
    let is_whole = Selection::from_arguments().is_whole();
    let code = suite.run();
    let cases = CASES.load(Ordering::Relaxed);
    if is_whole && cases < floor {
        eprintln!("{cases} cases passed, and there must be {floor}");
        return ExitCode::FAILURE;
    }
    code
}
