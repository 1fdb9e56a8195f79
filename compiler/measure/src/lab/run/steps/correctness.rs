//! The small models of tests/models on every device and back end, beside the outputs that are stored with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Deserialize;
use warpweave_runtime::json::{self, json};
use warpweave_runtime::session::Device;

use crate::lab::run::bundles::NoBundle;
use crate::lab::run::child::Ended;
use crate::lab::run::context::{Context, Deadline, Found, Stop, on_device, outcome, word};
use crate::lab::run::fixtures::Fixture;
use crate::lab::run::options::{Backend, is_gpu};
use crate::lab::run::predict::{FIRST, Predictor};
use crate::lab::{Comparison, Findings, Outcome};

/// Fewer seconds than this are of no use to a comparison.
const LEAST_SECONDS: f64 = 0.5;

/// What a step compares.
pub struct Compared<'a> {
    pub step: &'a str,
    pub device: Device,
    /// What runs the plans, where there is a choice.
    pub backend: Option<Backend>,
}

/// The one small model that shows whether a back end works.
pub fn smoke(context: &Context, compared: &Compared, deadline: Deadline) -> Found {
    let fixtures: Vec<&Fixture> = context.fixtures.smoke_fixture().into_iter().collect();
    compare_all(context, compared, &fixtures, deadline)
}

/// All small models of the run.
pub fn compare(context: &Context, compared: &Compared, deadline: Deadline) -> Found {
    compare_all(context, compared, &context.fixtures.chosen(context.options.scale), deadline)
}

/// One comparison, and what failed, if something did.
struct Done {
    comparison: Comparison,
    failed: Option<Ended>,
    unable: Option<String>,
}

fn compare_all(context: &Context, compared: &Compared, fixtures: &[&Fixture], deadline: Deadline) -> Found {
    if fixtures.is_empty() {
        return Err(Stop::Skip("tests/models is not here: run the lab in the repository".to_owned()));
    }
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Done)>> = Mutex::new(Vec::new());
    let ended: Mutex<Option<String>> = Mutex::new(None);
    let work = || {
        while let Some(fixture) = fixtures.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = fixtures.iter().position(|other| other.name == fixture.name).unwrap_or(0);
            if ended.lock().is_ok_and(|ended| ended.is_some()) {
                break;
            }
            let done = compare_one(context, compared, fixture, deadline);
            let outcome = done.comparison.outcome;
            if outcome == Outcome::Differ {
                context.conditions().differ(&fixture.name);
            }
            let why = context.observe((compared.device, compared.backend), compared.step, outcome);
            if let (Ok(mut ended), Some(why)) = (ended.lock(), why) {
                ended.get_or_insert(why);
            }
            if let Ok(mut found) = found.lock() {
                found.push((at, done));
            }
        }
    };
    // One program at a time on a GPU; other devices share the processor's threads.
    let workers = if is_gpu(compared.device) { 1 } else { 2 };
    thread::scope(|scope| (0..workers).for_each(|_| _ = scope.spawn(work)));
    let mut done = found.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    judge(
        compared,
        fixtures.len(),
        done.into_iter().map(|(_, done)| done).collect(),
        ended.into_inner().unwrap_or_default(),
    )
}

fn judge(compared: &Compared, of: usize, done: Vec<Done>, ended: Option<String>) -> Found {
    let unable = done.iter().find_map(|done| done.unable.clone());
    let comparisons: Vec<Comparison> = done.iter().map(|done| done.comparison.clone()).collect();
    let failed: Vec<&Done> = done.iter().filter(|done| done.failed.is_some()).collect();
    let missing = of - comparisons.iter().filter(|found| found.outcome != Outcome::Missing).count();
    let (device, backend) = (compared.device.to_string(), compared.backend.map(|backend| backend.to_string()));
    let found = Findings::Comparisons { device, backend, comparisons };
    if let Some(first) = failed.first() {
        let mut reason = format!("{} of {of} do not agree, the first is {}", failed.len(), first.comparison.model);
        if let Some(ended) = ended {
            reason = format!("{reason}; {ended}");
        }
        let process = first.failed.clone().map(Box::new);
        return Err(Stop::Failed { reason, ended: process, findings: Some(Box::new(found)) });
    }
    match (missing, unable) {
        (0, _) => Ok(found),
        (_, Some(reason)) => Err(Stop::Skip(reason)),
        (missing, None) => {
            let reason = format!("budget: {} of {of} were compared", of - missing);
            Err(Stop::Time { reason, findings: Some(Box::new(found)) })
        }
    }
}

#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    outputs: Vec<ToldOutput>,
}

#[derive(Deserialize)]
struct ToldOutput {
    worst: Option<Worst>,
}

#[derive(Deserialize)]
struct Worst {
    relative: Option<f64>,
}

fn compare_one(context: &Context, compared: &Compared, fixture: &Fixture, deadline: Deadline) -> Done {
    let Compared { device, backend, .. } = compared;
    let comparison = |outcome| Comparison { model: fixture.name.clone(), outcome, worst_relative: None, case: None };
    let without = |failed, unable| Done { comparison: comparison(Outcome::Missing), failed, unable };
    let wanted = fixture.wanted(backend.unwrap_or(FIRST));
    let bundle = match context.bundles.bundle(&wanted, deadline.0) {
        Ok(bundle) => bundle,
        Err(NoBundle::Time) => return without(None, None),
        Err(NoBundle::Unable(reason)) => return without(None, Some(reason)),
        Err(NoBundle::Failed(ended)) => return without(Some(ended), None),
    };
    if deadline.left().as_secs_f64() < LEAST_SECONDS {
        return without(None, None);
    }
    let name = format!("{}.{}", stem(&bundle), device.to_string().replace(':', ""));
    let case = context.work.join("new-cases").join(name);
    let _ = fs::remove_dir_all(&case);
    let predictor = Predictor { options: &context.options, costs: &context.costs, fixtures: &context.fixtures };
    let limit = deadline.within(predictor.comparison_limit(*device));
    let is_cut = limit.0 == deadline.0;
    let mut words = vec!["compare".to_owned(), word(&bundle), "--io".to_owned(), word(&fixture.io)];
    words.extend(on_device(*device));
    words.extend(["--save-failure".to_owned(), word(&case), "--json".to_owned()]);
    let ended = context.run(&words, limit);
    let mut comparison = comparison(outcome(ended.exit));
    if ended.exit.code().is_none() && is_cut {
        // The step's budget was over before the comparison's own.
        return without(None, None);
    }
    let told: Option<Told> = ended.parsed();
    let errors = told.into_iter().flat_map(|told| told.outputs).filter_map(|output| output.worst?.relative);
    // An error divided by an expected 0 is no number.
    comparison.worst_relative = errors.filter(|error| error.is_finite()).max_by(f64::total_cmp);
    if comparison.outcome == Outcome::Agree || comparison.outcome == Outcome::Missing {
        return Done { comparison, failed: None, unable: None };
    }
    comparison.case = keep(context, comparison.outcome, &case, (&bundle, &fixture.io), &ended);
    Done { comparison, failed: Some(ended), unable: None }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Keeps the first case of each kind, and gives its folder's name. A process that left none leaves what it was given.
fn keep(context: &Context, outcome: Outcome, case: &Path, given: (&Path, &Path), ended: &Ended) -> Option<String> {
    static KEEPING: Mutex<()> = Mutex::new(());
    let _keeping = KEEPING.lock();
    let kind = json::to_value(outcome).ok().and_then(|value| value.as_str().map(str::to_owned))?;
    let kept: PathBuf = context.cases().join(&kind);
    if kept.exists() {
        let _ = fs::remove_dir_all(case);
        return None;
    }
    if !case.exists() {
        fs::create_dir_all(case).ok()?;
        let (bundle, io) = given;
        fs::copy(bundle, case.join("model.weave")).ok()?;
        fs::copy(io, case.join("io.npz")).ok()?;
        let told = json!({
            "schema": "warpweave.case/1", "kind": kind, "command": ended.command, "exit_code": ended.exit.code(),
            "tail": ended.tail(), "replay": "warpweave compare model.weave --io io.npz --device emulator",
        });
        fs::write(case.join("case.json"), json::to_string_pretty(&told).ok()?).ok()?;
    }
    fs::rename(case, &kept).ok()?;
    Some(format!("cases/{kind}"))
}
