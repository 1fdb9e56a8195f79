//! Verifier and closure agree on every changed plan.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::verify::verify;
use warpweave::plan::verify::violation::Violation;
use warpweave_tests::pipeline::plan;
use warpweave_tests::random::Random;
use warpweave_tests::suite::{Suite, is_full};
use warpweave_tests::{models, samples};

use crate::mutants::{self, Change, Follow};
use crate::unit_counters::with_unit_counters;
use warpweave_tests::closure::accesses::{Accesses, Reads};
use warpweave_tests::closure::judge::{Verdict, judge};

/// Adds a trial for each sample: every change of its plans.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        for level in [FusionLevel::None, FusionLevel::Register, FusionLevel::Full] {
            let sample = sample.clone();
            suite.trial(format!("agreement {} {level:?}", sample.name), move || {
                let mut tally = Tally::default();
                for units in [2, 5] {
                    let (_, plan) = plan(&sample.program, units, level);
                    check_all(&plan, |_| sample_changes(), &mut tally);
                    check_all(&with_unit_counters(&plan), |_| sample_changes(), &mut tally);
                }
                eprintln!("{} {level:?}: {tally}", sample.name);
                tally.assert_agreement();
            });
        }
    }
}

/// Adds a trial for each model: some changes of each kind, in a full run every dropped wait and signal.
pub fn add_models(suite: &mut Suite) {
    for model in models::by_turns_from(0, 2) {
        suite.trial(format!("agreement {}", model.name), move || {
            let program = model.program();
            for units in [4, 132] {
                let mut tally = Tally::default();
                let start = Instant::now();
                let (_, plan) = plan(&program, units, FusionLevel::Full);
                check_all(&plan, model_changes, &mut tally);
                if units == 4 {
                    check_all(&with_unit_counters(&plan), model_changes, &mut tally);
                }
                let length: usize = plan.persistent().streams.iter().map(Vec::len).sum();
                eprintln!("{} on {units}, {length} instructions, {:.1?}: {tally}", model.name, start.elapsed());
                tally.assert_agreement();
            }
        });
    }
}

/// Changes of each kind that are tried on a sample's plan: most, and all in a full run.
fn sample_changes() -> usize {
    if is_full() { usize::MAX } else { 24 }
}

/// Changes of a kind that are tried on a model's plan: a few; in a full run every dropped wait and signal, and many of each
/// other kind.
fn model_changes(change: Change) -> usize {
    match change {
        _ if !is_full() => 8,
        Change::DropWait(_) | Change::DropSignal(_, Follow::Nothing) => usize::MAX,
        _ => 200,
    }
}

/// Counts of harmful, harmless and interleaved changes by kind, and disagreements.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<&'static str, [usize; 3]>,
    disagreements: Vec<String>,
}

impl Tally {
    /// Changes that were judged.
    pub fn total(&self) -> usize {
        self.counts.values().flatten().sum()
    }

    /// Fails if verifier and closure ever disagreed.
    #[track_caller]
    pub fn assert_agreement(&self) {
        let first: Vec<&String> = self.disagreements.iter().take(6).collect();
        assert!(first.is_empty(), "{} disagreements: {first:#?}", self.disagreements.len());
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut total = [0; 3];
        let mut line = String::new();
        for (kind, counts) in &self.counts {
            write!(line, "; {kind} {}/{}/{}", counts[0], counts[1], counts[2])?;
            total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        write!(f, "{} harmful, {} harmless, {} interleaved{line}", total[0], total[1], total[2])
    }
}

/// Checks a plan and up to `limit` changes of each kind.
pub fn check_all(plan: &ExecutionPlan, limit: impl Fn(Change) -> usize, tally: &mut Tally) {
    let accesses = Accesses::new(plan, Reads::Boxes);
    assert_eq!(judge(plan, &accesses), Verdict::Harmless, "an unchanged plan");
    verify(plan.clone()).unwrap_or_else(|violations| panic!("an unchanged plan has {violations:?}"));
    let mut random = Random::new(plan.persistent().units() as u64);
    let mut deduplicated: BTreeMap<&'static str, Vec<Change>> = BTreeMap::new();
    for change in mutants::all(plan, &mut random) {
        deduplicated.entry(change.kind()).or_default().push(change);
    }
    for changes in deduplicated.values_mut() {
        let limit = changes.first().map_or(0, |change| limit(*change));
        while changes.len() > limit {
            changes.swap_remove(random.below(changes.len()));
        }
        for &change in changes.iter() {
            check(plan, change, &accesses, tally);
        }
    }
}

fn check(plan: &ExecutionPlan, change: Change, accesses: &Accesses, tally: &mut Tally) {
    let mutant = change.apply(plan);
    // Who polls what follows from the tags.
    let untagged = matches!(change, Change::DropTags(_)).then(|| Accesses::new(&mutant, Reads::Boxes));
    let verdict = judge(&mutant, untagged.as_ref().unwrap_or(accesses));
    let verified = verify(mutant);
    let counts = tally.counts.entry(change.kind()).or_default();
    let agree = match (&verdict, &verified) {
        (Verdict::Harmful(_), found) => {
            counts[0] += 1;
            found.is_err()
        }
        (Verdict::Harmless, found) => {
            counts[1] += 1;
            found.is_ok()
        }
        (Verdict::Interleaved, found) => {
            counts[2] += 1;
            let alias = |violation: &Violation| matches!(violation, Violation::Alias { .. });
            found.as_ref().map_or_else(|violations| violations.iter().all(alias), |_| true)
        }
    };
    if !agree {
        tally.disagreements.push(format!("{change:?}: {verdict:?}, verifier {:?}", verified.err()));
    }
}
