//! Runs on a stand-in driver: each fault that it injects is told in the verdict, and what follows from it is skipped by name.

use warpweave_measure::lab::run::options::Fault;
use warpweave_measure::lab::{Lab, Status, verdict};

use crate::count_case;
use crate::support::{failed, folder, lab, said, skipped};

/// Faults that are injected in short and in full.
const FEW: [Fault; 2] = [Fault::Hang, Fault::NoNvrtc];
const ALL: [Fault; 7] = [
    Fault::Hang,
    Fault::WrongOutput,
    Fault::NoNvrtc,
    Fault::RefusedAllocation,
    Fault::Abort,
    Fault::LostDevice,
    Fault::FewerUnits,
];
/// Seconds that a run may take, on a machine that does nothing else.
const MOST_SECONDS: f64 = 180.0;

/// The faults that are injected.
pub fn faults(is_full: bool) -> &'static [Fault] {
    if is_full { &ALL } else { &FEW }
}

/// What is skipped for a fault, and what the verdict says.
struct Expected {
    /// A part of the reasons of skipped steps; none where nothing is skipped.
    skipped: Option<&'static str>,
    /// Steps that are skipped for it, at least.
    least: usize,
    /// A part of the verdict.
    wrong: &'static str,
    fails: bool,
}

fn expected(fault: Fault) -> Expected {
    let of = |skipped, wrong| Expected { skipped: Some(skipped), least: 3, wrong, fails: true };
    match fault {
        Fault::None => unreachable!("it injects nothing"),
        Fault::Hang => of("persistent programs time out", "time-out"),
        Fault::RefusedAllocation => of("persistent after 3 ", "smoke.cuda:0.persistent"),
        Fault::Abort => of("persistent after 3 ", "smoke.cuda:0.persistent"),
        Fault::WrongOutput => of("persistent programs give wrong outputs", "differs"),
        Fault::LostDevice => of("cuda:0 is lost since ", "cuda:0 is lost since "),
        Fault::NoNvrtc => of("NVRTC is missing: ", "doctor: NVRTC is missing"),
        Fault::FewerUnits => Expected { skipped: None, least: 0, wrong: "has 100 multiprocessors", fails: false },
    }
}

/// One run with a fault.
pub fn check(fault: Fault) {
    let folder = folder(&format!("dry-{fault}"));
    let found = lab(&folder, &["--dry", fault.word(), "--budget", "600"]);
    let Expected { skipped: cause, least, wrong, fails } = expected(fault);
    let text = said(&found);
    assert!(found.seconds <= MOST_SECONDS, "{fault} took {:.0} s:\n{text}", found.seconds);
    assert_eq!(found.lab.options.dry.as_deref(), Some(fault.word()));
    assert!(found.tables.contains("DRY RUN: a stand-in driver answered; no time here is a GPU's"), "{}", found.tables);
    assert_eq!(failed(&found.lab).is_empty(), !fails, "{text}");
    let skips = skipped(&found.lab);
    let caused = skips.values().filter(|reason| cause.is_some_and(|cause| reason.contains(cause))).count();
    assert!(caused >= least, "{fault}: {caused} steps are skipped for {cause:?}: {skips:#?}\n{text}");
    let verdict = verdict(&found.lab);
    assert!(verdict.wrong.iter().any(|line| line.contains(wrong)), "{fault}: {:#?}\n{text}", verdict.wrong);
    check_reasons(&found.lab, &text);
    count_case();
}

/// Every step has a result, and every one that is skipped names a cause.
fn check_reasons(lab: &Lab, text: &str) {
    let causes = ["dry run", " after ", "is lost since", "is missing", "no model differed", "is not installed"];
    for step in &lab.steps {
        if let Status::Skipped { reason } = &step.status {
            assert!(causes.iter().any(|cause| reason.contains(cause)), "{}: {reason}\n{text}", step.name);
        }
    }
    assert!(lab.steps.iter().any(|step| step.name.starts_with("model.")), "the run went on to its end\n{text}");
}
