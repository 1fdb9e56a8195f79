//! `warpweave lab`: runs everything that a device can tell of a build, and shows what was recorded.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use warpweave::graph::legible::counted;
use warpweave::runtime::json::{self, json};
use warpweave::runtime::session::Device;
use warpweave_measure::lab::run::options::{Call, Fault, RunOptions, Scale};
use warpweave_measure::lab::run::{ARCHIVE, RECORD, TABLES, plan, run};
use warpweave_measure::lab::{Lab, markdown, measure_costs};

use crate::arguments::program::parse_threads;
use crate::arguments::search::parse_seconds;
use crate::error::{CliError, Passed, file_error};
use crate::output::Output;
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// Threads of the processor beside a GPU that plans reckon with.
const PLANNED_CORES: usize = 16;

/// Arguments of `lab`.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Runs every step in order of worth, each within its budget; a second run does what is left
    Run(Run),
    /// Prints the tables of a record and its verdict, in Markdown
    Show {
        /// The lab.json that `lab run` has written
        #[arg(value_name = "LAB.json")]
        path: PathBuf,
    },
    /// Measures what exporting and compiling every model takes, for the budgets of `lab run`
    Costs(Costs),
}

#[derive(Args)]
struct Run {
    /// Receives lab.json, lab.md and lab.zip, and nothing else, after every step [default: the folder of --work]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Holds everything else, and what a later run resumes
    #[arg(long, value_name = "DIR", default_value = "target/lab")]
    work: PathBuf,
    /// Which steps
    #[arg(long, value_enum, default_value_t = CallName::All)]
    call: CallName,
    /// For all steps together [default: 150 for smoke, 330 for measure, 480 for all]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    budget: Option<Duration>,
    /// cuda:N, or host,emulator without a GPU
    #[arg(long, value_name = "D,D", value_delimiter = ',', default_value = "cuda:0")]
    device: Vec<Device>,
    /// Few models, of less width and depth
    #[arg(long)]
    reduced: bool,
    /// These steps alone; others keep what they have found, or are skipped
    #[arg(long, value_name = "STEP,STEP", value_delimiter = ',')]
    only: Vec<String>,
    /// Print every step with its predicted seconds and its budget, and run nothing; fails where they do not fit
    #[arg(long)]
    plan: bool,
    /// Threads of the processor that a plan reckons with [default: 16 with --plan, else those of this machine]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    cores: Option<usize>,
    /// Have a stand-in driver answer instead of a GPU, and inject hang, refused-allocation, abort, wrong-output, lost-device,
    /// no-nvrtc, fewer-units or none; implies --reduced
    #[arg(long, value_name = "FAULT", num_args = 0..=1, default_missing_value = "none")]
    dry: Option<Fault>,
    /// The program whose commands are the steps [default: this one]
    #[arg(long, value_name = "FILE", hide = true)]
    binary: Option<PathBuf>,
}

/// Which steps a run has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CallName {
    /// Whether the device works, and the constants that decide plans
    Smoke,
    /// Profiles, models, peers, constants, kernels
    Measure,
    /// Both in turn
    All,
}

#[derive(Args)]
struct Costs {
    /// The file; models of the same version that it has already are kept
    #[arg(long, value_name = "FILE")]
    write: PathBuf,
    /// The program that exports and compiles [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Holds models and bundles while they are measured
    #[arg(long, value_name = "DIR", default_value = "target/lab")]
    work: PathBuf,
}

/// Runs the command. A failed step is a failed check, and so is a plan that does not fit.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    match &arguments.action {
        Action::Run(run) => execute_run(run, output),
        Action::Show { path } => show(path, output),
        Action::Costs(costs) => execute_costs(costs, output),
    }
}

fn show(path: &Path, output: &Output) -> Result<Passed, CliError> {
    let lab = Lab::read(path)?;
    let value = json::to_value(&lab).map_err(|error| CliError::Usage(format!("no JSON holds the record: {error}")))?;
    output.result("lab", &value, &markdown(&lab));
    Ok(true)
}

/// The program whose commands are run: one that is named, or this one.
fn named_or_this(named: Option<&Path>) -> Result<PathBuf, CliError> {
    match named {
        Some(path) => path.canonicalize().map_err(file_error("run", path)),
        None => std::env::current_exe().map_err(file_error("find", Path::new("warpweave"))),
    }
}

fn execute_run(arguments: &Run, output: &Output) -> Result<Passed, CliError> {
    let is_reduced = arguments.reduced || arguments.dry.is_some();
    if arguments.budget.is_some_and(|budget| budget.is_zero()) {
        return Err(CliError::Usage("--budget must be above 0 seconds".to_owned()));
    }
    let own_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = RunOptions {
        binary: named_or_this(arguments.binary.as_deref())?,
        results: arguments.results.clone(),
        work: arguments.work.clone(),
        call: match arguments.call {
            CallName::Smoke => Call::Smoke,
            CallName::Measure => Call::Measure,
            CallName::All => Call::All,
        },
        budget: arguments.budget.map(|budget| budget.as_secs_f64()),
        devices: arguments.device.clone(),
        scale: if is_reduced { Scale::Reduced } else { Scale::Full },
        only: arguments.only.clone(),
        cores: arguments.cores.unwrap_or(if arguments.plan { PLANNED_CORES } else { own_cores }),
        dry: arguments.dry,
    };
    if arguments.plan {
        let plan = plan(&options)?;
        output.result("lab-plan", &json!({"fits": plan.fits, "text": plan.text}), &plan.text);
        return Ok(plan.fits);
    }
    let results = [(RECORD, OutputKind::LabRecord), (TABLES, OutputKind::LabPart), (ARCHIVE, OutputKind::LabPart)];
    let results = results.map(|(name, kind)| OutputFile::new(name, kind));
    output_paths::check_folder(Some(arguments.results.as_ref().unwrap_or(&arguments.work)), results, &[])?;
    let summary = run(&options, &mut |line| output.line(line))?;
    let [ran, failed, skipped] = summary.counts;
    let tables = summary.tables.display().to_string();
    let text = format!("{tables}: {} ran, {failed} failed, {skipped} were skipped", counted(ran, "step"));
    output.result("lab-run", &json!({"tables": tables, "ran": ran, "failed": failed, "skipped": skipped}), &text);
    Ok(failed == 0)
}

fn execute_costs(arguments: &Costs, output: &Output) -> Result<Passed, CliError> {
    let binary = named_or_this(arguments.binary.as_deref())?;
    output_paths::check_files(&[OutputFile::new(&arguments.write, OutputKind::LabCosts)], &[])?;
    let costs = measure_costs(&binary, &arguments.write, &arguments.work, &mut |line| output.line(line))?;
    let path = arguments.write.display().to_string();
    let (models, fixtures) = (costs.models.len(), costs.fixtures.len());
    let text = format!(
        "{path}: {}, {fixtures} small ones, on {}",
        counted(models, "benchmark model"),
        counted(costs.cores, "thread")
    );
    output.result("lab-costs", &json!({"path": path, "models": models, "fixtures": fixtures}), &text);
    Ok(true)
}
