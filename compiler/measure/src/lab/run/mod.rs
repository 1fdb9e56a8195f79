//! Runs the lab: every step in order of worth, each within its budget, its result written before the next one begins.

mod archive;
mod book;
pub(super) mod bundles;
pub(super) mod child;
mod conditions;
mod context;
pub(super) mod fixtures;
pub mod options;
mod plan;
mod predict;
mod results;
pub(super) mod step;
mod steps;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use warpweave_graph::legible::file_remedy;
use warpweave_runtime::session::Device;

use book::Book;
use bundles::{Bundles, Maker, Wanted, is_whole, workers};
use child::Children;
use conditions::Conditions;
use context::{Context, Deadline, Told, ToldDevice};
use fixtures::Fixtures;
use options::{Call, Fault, RunOptions, Scale};
use plan::{Before, CallPlan, plan_calls};
use predict::Predictor;
use results::Results;
use step::{LabStep, all_steps};
use steps::perform;

use super::costs::Costs;
use super::{Binary, LabOptions, Status};

pub use plan::MOST_SECONDS;
pub use results::{ARCHIVE, RECORD, TABLES};
pub use steps::perform::DRY_RUN;

/// The architecture that kernels are compiled for where no GPU says another.
const DEFAULT_TARGET: &str = "sm_90a";
/// Seconds in which the first `doctor` answers.
const DOCTOR_LIMIT: Duration = Duration::from_secs(40);
/// Seconds for the record after the last step.
const RESERVE: f64 = 2.0;
/// Fewer seconds than this are of no use to a step.
const LEAST_SECONDS: f64 = 0.5;
/// How much longer than its budget a step may take, in multiples of that, while earlier steps have saved time.
const STRETCH: f64 = 3.0;

/// Why the lab cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A folder or file cannot be read or written.
    #[error("cannot use {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// Which.
        path: PathBuf,
        source: io::Error,
    },
    /// A step that is asked for does not exist.
    #[error("no such step: {}; there are {}", unknown.join(", "), known.join(", "))]
    UnknownSteps {
        /// What was asked for.
        unknown: Vec<String>,
        /// The steps of the call.
        known: Vec<String>,
    },
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> RunError {
    let path = path.to_owned();
    move |source| RunError::File { path, source }
}

/// How a run has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Steps of this run that ran, failed and were skipped.
    pub counts: [usize; 3],
    pub tables: PathBuf,
}

/// A plan as text, and whether it holds.
pub struct PlanText {
    /// The table with its totals.
    pub text: String,
    /// Whether all steps have their time.
    pub fits: bool,
}

/// Plans a run without running it.
pub fn plan(options: &RunOptions) -> Result<PlanText, RunError> {
    let prepared = Prepared::new(options)?;
    let book = prepared.book(options)?;
    let plans = prepared.plans(options, &book, target(options, None));
    Ok(PlanText { text: plan::text(&plans), fits: plan::fits(&plans) })
}

/// Runs the lab; `say` gets a line a step.
pub fn run(options: &RunOptions, say: &mut dyn FnMut(&str)) -> Result<Summary, RunError> {
    let start = Instant::now();
    let prepared = Prepared::new(options)?;
    let mut book = prepared.book(options)?;
    book.write().map_err(file_error(&prepared.work))?;
    let children = Arc::new(Children::new(prepared.environment.clone()));
    let doctor = children.run(&options.binary, &["doctor", "--json"], DOCTOR_LIMIT);
    let told: Option<Told> = doctor.parsed();
    let mut conditions = Conditions::default();
    if let Some(reason) = told.as_ref().and_then(no_compiler) {
        conditions.lack_compiler(reason);
    }
    for device in options.gpus() {
        if let Some(reason) = told.as_ref().and_then(|told| context::absent(told, device)) {
            conditions.lose(device, "the start", &reason);
        }
    }
    let target = target(options, told.as_ref());
    let plans = prepared.plans(options, &book, target.clone());
    for plan in &plans {
        let cut: Vec<String> = plan.cut().map(|planned| planned.step.name()).collect();
        if !cut.is_empty() {
            say(&format!("cut      {}: the budget is too short", cut.join(", ")));
        }
    }
    let maker = prepared.maker(options, target, conditions.no_compiler().map(str::to_owned));
    let predictor = prepared.predictor(options);
    let order = match options.only.is_empty() {
        true => plan::order(&predictor, &prepared.everything(options)),
        false => Vec::new(),
    };
    let bundles = Bundles::new(maker, order, workers(options.cores));
    let work = (options.clone(), prepared.work.clone());
    let known = (prepared.fixtures.clone(), prepared.costs.clone());
    let context = Context::new(work, known, (Arc::clone(&children), (told, doctor)), (bundles, conditions));
    let summary = Runner { context: &context, book: &mut book, start, say }.run(&plans, &prepared.steps);
    context.bundles.close();
    children.stop();
    summary.map_err(file_error(&prepared.work))
}

/// Why nothing can be compiled.
fn no_compiler(told: &Told) -> Option<String> {
    let missing = !told.nvrtc.found;
    missing.then(|| format!("NVRTC is missing: {}", told.nvrtc.reason.as_deref().unwrap_or("it was not found")))
}

/// What kernels are compiled for: the first GPU's architecture, or the default one.
fn target(options: &RunOptions, told: Option<&Told>) -> String {
    let of_gpu = |gpu: &ToldDevice| {
        let (major, minor) = gpu.compute_capability.split_once('.')?;
        let suffix = if major.parse::<u32>().ok()? >= 9 { "a" } else { "" };
        Some(format!("sm_{major}{minor}{suffix}"))
    };
    let first = options.gpus().next();
    let known = told.into_iter().flat_map(|told| &told.driver.devices);
    let is_first = |gpu: &&ToldDevice| first == Some(Device::Cuda(gpu.ordinal));
    known.filter(is_first).find_map(of_gpu).unwrap_or_else(|| DEFAULT_TARGET.to_owned())
}

/// What is known of a run before its first process.
struct Prepared {
    work: PathBuf,
    fixtures: Fixtures,
    costs: Costs,
    steps: Vec<LabStep>,
    sha256: String,
    environment: Vec<(OsString, OsString)>,
}

impl Prepared {
    fn new(options: &RunOptions) -> Result<Self, RunError> {
        let bytes = fs::read(&options.binary).map_err(file_error(&options.binary))?;
        let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let reduced = if options.scale == Scale::Reduced { "-reduced" } else { "" };
        let dry = options.dry.map(|fault| format!("-dry-{fault}")).unwrap_or_default();
        let root = std::path::absolute(&options.work).map_err(file_error(&options.work))?;
        let work = root.join(format!("{}{reduced}{dry}", &sha256[..12]));
        fs::create_dir_all(&work).map_err(file_error(&work))?;
        let environment = environment(options, &work).map_err(file_error(&work))?;
        let costs = Costs::committed();
        let steps = all_steps(options, &costs);
        let known = || steps.iter().map(LabStep::name);
        let unknown: Vec<String> =
            options.only.iter().filter(|name| !known().any(|other| other == **name)).cloned().collect();
        if !unknown.is_empty() {
            return Err(RunError::UnknownSteps { unknown, known: known().collect() });
        }
        Ok(Self { work, fixtures: Fixtures::find(), costs, steps, sha256, environment })
    }

    /// Every step of every call.
    fn everything(&self, options: &RunOptions) -> Vec<LabStep> {
        let whole = RunOptions { call: Call::All, ..options.clone() };
        let all = all_steps(&whole, &self.costs);
        // What this call needs comes first.
        let (own, others): (Vec<LabStep>, Vec<LabStep>) = all.into_iter().partition(|step| options.call.has(step.call));
        own.into_iter().chain(others).collect()
    }

    fn book(&self, options: &RunOptions) -> Result<Book, RunError> {
        let of = |folder: &Path| Results::new(folder, &self.work).map_err(file_error(folder));
        let results = vec![of(&self.work)?, of(options.results.as_deref().unwrap_or(&options.work))?];
        let children = Children::new(self.environment.clone());
        let version = children.run(&options.binary, &["--version"], Duration::from_secs(20)).out.trim().to_owned();
        let binary = Binary { version, sha256: self.sha256.clone() };
        let recorded = LabOptions {
            devices: options.devices.iter().map(Device::to_string).collect(),
            reduced: options.scale == Scale::Reduced,
            budget_seconds: options.budget_seconds(),
            dry: options.dry.map(|fault| fault.to_string()),
        };
        let whole = RunOptions { call: Call::All, ..options.clone() };
        let order = all_steps(&whole, &self.costs).iter().map(LabStep::name).collect();
        Ok(Book::open((binary, recorded), order, &self.work, results))
    }

    fn predictor<'a>(&'a self, options: &'a RunOptions) -> Predictor<'a> {
        Predictor { options, costs: &self.costs, fixtures: &self.fixtures }
    }

    fn maker(&self, options: &RunOptions, target: String, unable: Option<String>) -> Maker {
        Maker {
            binary: options.binary.clone(),
            work: self.work.clone(),
            target,
            scale: options.scale,
            unable,
            children: Arc::new(Children::new(self.environment.clone())),
        }
    }

    fn plans(&self, options: &RunOptions, book: &Book, target: String) -> Vec<CallPlan> {
        let predictor = self.predictor(options);
        let maker = self.maker(options, target, None);
        let all = self.everything(options);
        let wanted = plan::order(&predictor, &all);
        let made = wanted.into_iter().filter(|wanted: &Wanted| is_whole(&maker.bundle_path(wanted))).collect();
        let before = Before { is_done: &|name| book.has_run(name), made, workers: workers(options.cores) };
        let wanted = |step: &LabStep| options.only.is_empty() || options.only.contains(&step.name());
        let steps: Vec<LabStep> = self.steps.iter().filter(|step| wanted(step)).cloned().collect();
        plan_calls(&predictor, &steps, &all, before)
    }
}

/// Variables of every child: for a dry run, the driver that it opens.
fn environment(options: &RunOptions, work: &Path) -> io::Result<Vec<(OsString, OsString)>> {
    let Some(fault) = options.dry else { return Ok(Vec::new()) };
    let state = work.join(format!("stand-in.{}", std::process::id()));
    // Launches are counted across the processes of one run.
    let _ = fs::remove_file(&state);
    let mut variables = vec![
        (OsString::from("WARPWEAVE_DRIVER"), OsString::from(fault.driver())),
        (OsString::from("WARPWEAVE_STAND_IN_STATE"), state.into_os_string()),
    ];
    if fault == Fault::NoNvrtc {
        let empty = work.join("no-cuda");
        fs::create_dir_all(&empty)?;
        variables.push((OsString::from("WARPWEAVE_CUDA_DIR"), empty.into_os_string()));
    }
    Ok(variables)
}

/// Runs the steps in turn.
struct Runner<'a> {
    context: &'a Context,
    book: &'a mut Book,
    start: Instant,
    say: &'a mut dyn FnMut(&str),
}

impl Runner<'_> {
    fn run(&mut self, plans: &[CallPlan], steps: &[LabStep]) -> io::Result<Summary> {
        let planned = plans.iter().flat_map(|plan| &plan.steps);
        let times: BTreeMap<String, &plan::Planned> = planned.map(|planned| (planned.step.name(), planned)).collect();
        let mut counts = [0; 3];
        let mut queue: VecDeque<(&LabStep, bool)> = steps.iter().map(|step| (step, true)).collect();
        let mut planned_end = 0.0;
        while let Some((step, is_first_try)) = queue.pop_front() {
            let name = step.name();
            if self.book.has_run(&name) {
                (self.say)(&format!("kept     {name}"));
                counts[0] += 1;
                continue;
            }
            let Some(planned) = times.get(&name) else {
                // What an earlier run has found of it stays.
                if self.book.step(&name).is_none() {
                    self.book.add(perform::skipped(step, "not asked for"))?;
                }
                continue;
            };
            planned_end += if is_first_try { planned.budget.unwrap_or(0.0) } else { 0.0 };
            let result = match self.deadline(planned, planned_end) {
                Some(deadline) => perform::perform(self.context, step, deadline),
                None => {
                    let reason = format!("budget: it takes {:.0} s", planned.wait + planned.prediction.seconds);
                    perform::skipped(step, reason)
                }
            };
            let is_late = matches!(&result.status, Status::Skipped { reason } if reason.starts_with("budget"));
            if is_late && is_first_try {
                // Perhaps others leave time for it, or its bundle is there by then.
                queue.push_back((step, false));
            }
            let (at, word, reason) = match &result.status {
                Status::Ran => (0, "ran", String::new()),
                Status::Failed { reason, .. } => (1, "failed", format!(": {reason}")),
                Status::Skipped { reason } => (2, "skipped", format!(": {reason}")),
            };
            let line = format!("{word:<8} {name} {:.1} s{reason}", result.seconds);
            if !(is_late && is_first_try) || self.book.step(&name).is_none() {
                self.book.add(result)?;
            }
            (self.say)(&line);
            counts[at] += usize::from(!(is_late && is_first_try));
        }
        self.book.write()?;
        let options = &self.context.options;
        let folder = options.results.as_deref().unwrap_or(&options.work);
        Ok(Summary { counts, tables: folder.join(TABLES) })
    }

    /// When a step is killed: at its budget, or later by what earlier steps have saved; none if there is no time for it.
    fn deadline(&self, planned: &plan::Planned, planned_end: f64) -> Option<Deadline> {
        let used = self.start.elapsed().as_secs_f64();
        let whole = self.context.options.budget_seconds();
        let left = whole - RESERVE.min(whole / 10.0) - used;
        let own = planned.prediction.budget + planned.wait;
        let saved = (planned_end - used - own).max(0.0);
        let limit = (own + saved.min(STRETCH * own)).min(left);
        let least = if planned.budget.is_some() { LEAST_SECONDS } else { planned.prediction.seconds };
        (limit >= least.max(LEAST_SECONDS)).then(|| Deadline::after(limit))
    }
}
