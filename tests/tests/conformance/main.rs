//! ONNX's own node tests on every runtime that needs no GPU.
//!
//! A pass list a runtime names the cases that must pass; a case that passes and is not listed is an error, so that the
//! lists only grow. `BLESS=1` adds what passes and writes `docs/results/conformance.md`; with `WARPWEAVE_FULL=1` too it compiles
//! the cases that are not listed to compile. With a part of a name it runs the cases of that name alone, compiles them, and
//! leaves what is known of the others as it is.

mod case;
mod lists;
mod report;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use case::{Binding, Case, Runtime};
use lists::PassList;
use report::Report;
use warpweave_tests::suite::{Selection, Suite, is_full};

/// Of so many cases one is compiled by NVRTC in a run that is not full.
const SAMPLE: usize = 48;

fn main() -> ExitCode {
    let cases: Arc<Vec<Case>> = Arc::new(case::all());
    if std::env::var_os("BLESS").is_some() {
        bless(&cases, &Selection::from_arguments());
        return ExitCode::SUCCESS;
    }
    let mut suite = Suite::new("conformance", Duration::from_secs(720));
    for runtime in Runtime::ALL {
        let list = PassList::read(runtime);
        // Compiling every case takes minutes.
        let stride = if runtime == Runtime::Nvrtc && !is_full() { SAMPLE } else { 1 };
        for name in list.names().iter().step_by(stride) {
            let case = cases.iter().find(|case| case.name == *name).cloned();
            suite.trial(runtime.trial(name), move || {
                let case = case.expect("the case is there: run scripts/fetch_onnx_tests.sh");
                if let Err(reason) = case.run(runtime, Binding::Needed) {
                    panic!("{reason}");
                }
            });
        }
        if stride > 1 {
            continue;
        }
        let cases = Arc::clone(&cases);
        suite.trial(format!("{runtime:?} passes nothing that is not listed"), move || list.assert_complete(&cases));
    }
    suite.trial("the report counts what the lists name", move || report::assert_current(&cases));
    let end = suite.run();
    eprint!("{}", report::matrix());
    end
}

fn bless(cases: &[Case], selection: &Selection) {
    let report = Report::of(cases, selection);
    for runtime in Runtime::ALL {
        PassList::read(runtime).add(report.passing(runtime));
    }
    report.write();
}
