//! Ten thousand changed plans of all exported and benchmark models within three minutes, small plans first.

use std::time::{Duration, Instant};

use warpweave::frontend::{ImportOptions, import_bytes};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::{TensorProgram, lower};
use warpweave::models::{BuildOptions, Form, Scale, all, build};
use warpweave::plan::plan::ExecutionPlan;
use warpweave_tests::models;
use warpweave_tests::pipeline::{self, plan_under};
use warpweave_tests::suite::{Suite, is_full};

use crate::agreement::{Tally, check_all};

/// Changed plans.
const CHANGES: usize = 10_000;
/// The time for them, planning left out.
const LIMIT: Duration = Duration::from_secs(180);
/// Kinds of changes, of which no plan has all.
const KINDS: usize = 15;
/// Units: few, whose streams are long, and as many as an H200 has.
const UNITS: [usize; 2] = [4, 132];

/// Adds the trial to a full run.
pub fn add(suite: &mut Suite) {
    if is_full() {
        suite.trial("ten thousand changed plans", check);
    }
}

fn check() {
    let mut plans: Vec<(String, ExecutionPlan)> = Vec::new();
    for (name, program) in programs() {
        for units in UNITS {
            let options = PlanOptions { shared_bytes: 1 << 17, ..pipeline::options(units) };
            let (_, planned) = plan_under(&program, FusionLevel::Full, &options);
            plans.push((format!("{name} on {units}"), planned.plan));
        }
    }
    let length = |plan: &ExecutionPlan| plan.persistent().streams.iter().map(Vec::len).sum::<usize>();
    plans.sort_by_cached_key(|(name, plan)| (length(plan), name.clone()));
    let (start, mut tally) = (Instant::now(), Tally::default());
    for (at, (name, plan)) in plans.iter().enumerate() {
        let share = CHANGES.saturating_sub(tally.total()).div_ceil(plans.len() - at);
        let before = tally.total();
        check_all(plan, |_| share.div_ceil(KINDS / 2), &mut tally);
        let elapsed = start.elapsed().as_secs_f64();
        eprintln!("{name}: {} instructions, {} changes, {elapsed:.1} s", length(plan), tally.total() - before);
    }
    let elapsed = start.elapsed();
    eprintln!("{} changed plans of {} in {elapsed:.1?}: {tally}", tally.total(), plans.len());
    tally.assert_agreement();
    assert!(tally.total() >= CHANGES, "{} changes are too few", tally.total());
    assert!(elapsed <= LIMIT, "{elapsed:.1?} are too many");
}

/// The exported models, and the benchmark models at reduced size.
fn programs() -> Vec<(String, TensorProgram)> {
    let mut programs: Vec<(String, TensorProgram)> =
        models::all().into_iter().map(|model| (model.name.clone(), model.program())).collect();
    for info in all() {
        let options = BuildOptions { form: Form::Nodes, scale: Scale::Reduced, ..BuildOptions::default() };
        let model = build(info.name, &options).unwrap_or_else(|error| panic!("{error}"));
        let mut bytes = Vec::new();
        model.write_to(&mut bytes).expect("memory takes every byte");
        let graph = import_bytes(bytes.into(), None, &ImportOptions::default());
        programs.push((info.name.to_owned(), lower(&graph.unwrap_or_else(|error| panic!("{error}")))));
    }
    programs
}
