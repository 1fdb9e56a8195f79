//! `warpweave tune`: times of kernels, measured on a GPU and recorded.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::cost::gpu::GpuPrices;
use warpweave::fusion::cost::timings::{Machine, Timings};
use warpweave::fusion::partition::search::{FusionLevel, Partition, partition};
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::cuda::Driver;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::{Device, SessionError};
use warpweave::{Build, TimingsFile};
use warpweave_measure::tune::{DeviceMeasure, Outcome, Refused, TuneReport, tune, untimed};

use crate::arguments::import::ImportArguments;
use crate::arguments::program::{child_compiler, load_model};
use crate::arguments::search::{ArchArguments, parse_seconds};
use crate::error::{CliError, Passed};
use crate::output::Output;
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// Arguments of `tune`.
#[derive(Args)]
pub struct Arguments {
    /// An ONNX model
    #[arg(value_name = "MODEL")]
    path: PathBuf,
    /// The file of times: what it holds of the device is not measured again, and new times are added after every group
    #[arg(long, value_name = "FILE")]
    timings: PathBuf,
    /// The GPU: cuda:N
    #[arg(long, default_value_t = Device::Cuda(0))]
    device: Device,
    /// Seconds after which no further group is begun; no limit unless given
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, allow_negative_numbers = true)]
    budget: Option<Duration>,
    /// The seed of the random inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    arch: ArchArguments,
    #[command(flatten)]
    import: ImportArguments,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command. Refused kernels are a failed check.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let start = Instant::now();
    let ordinal = match arguments.device {
        Device::Cuda(ordinal) => ordinal,
        Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode => {
            let text = format!("{} has no kernels to tune; give --device cuda:N", arguments.device);
            return Err(CliError::Usage(text));
        }
    };
    let written = OutputFile::new(&arguments.timings, OutputKind::Timings);
    let (outputs, inputs) = (std::slice::from_ref(&written), std::slice::from_ref(&arguments.path));
    output_paths::check_apart(outputs, inputs)?;
    output_paths::check_place(&arguments.timings)?;
    // A file of something else is refused with its first wrong line.
    let mut file = TimingsFile::read_or_begin(&arguments.timings)?;
    output_paths::check_files(outputs, inputs)?;
    // Without the device nothing is worth its time.
    Driver::open().and_then(|driver| driver.device(ordinal)).map_err(SessionError::from)?;
    let model = load_model(&arguments.path, &arguments.import.import_options()?)?;
    output_paths::check_files(&[written], &model.paths())?;
    let mut build = Build::new(model)?;
    let compiler = child_compiler().map_err(|reason| CliError::NoDevice { device: arguments.device, reason })?;
    let program = build.prepared().program.clone();
    let given = arguments.arch.given()?.gpu;
    let mut measure = DeviceMeasure::new(&program, compiler.as_ref(), ordinal, given, arguments.seed)?;
    let prices = measure.prices().clone();
    let machine = measure.machine();
    build.timings = Some(Arc::new(file.clone()));
    build.prices = Some(prices.clone());
    let partitions = partitions(&build, BundleTarget::Gpu(measure.target()), &prices);
    let estimate = EstimatedCost { arch: prices.arch };
    let work = untimed(&program, &partitions, &estimate, &file.timings, &machine);
    let is_spent = || arguments.budget.is_some_and(|budget| start.elapsed() >= budget);
    let mut timings = std::mem::take(&mut file.timings);
    let mut keep = |timings: &Timings| -> Result<(), CliError> {
        file.timings.clone_from(timings);
        Ok(file.write()?)
    };
    let report = tune(&work, &machine, &mut timings, &mut measure, &is_spent, &mut keep)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut value = value(arguments, &machine, &report, seconds);
    value["priced_for"] = prices.priced_for().into();
    let text = text(arguments, &report, seconds) + &format!("  priced for {}\n", prices.priced_for());
    output.result("tune", &value, &text);
    Ok(report.refused.is_empty())
}

/// The partitions whose groups are tuned: those of all levels, by the times that there are.
fn partitions(build: &Build, target: BundleTarget, prices: &GpuPrices) -> Vec<Partition> {
    // Without a time of this device, estimates decide.
    let options = build.options(target).unwrap_or_else(|_| PlanOptions::gpu(prices));
    let levels = [FusionLevel::Full, FusionLevel::Register, FusionLevel::None];
    levels.map(|fusion| partition(build.prepared(), &*options.cost, fusion)).into()
}

fn text(arguments: &Arguments, report: &TuneReport, seconds: f64) -> String {
    let path = arguments.timings.display();
    let mut text = format!("{path}: {} kernels recorded, {} left, {seconds:.1} s\n", report.recorded, report.left);
    for Refused { params, outcome } in &report.refused {
        let _ = writeln!(text, "  refused {params}: {}", why(outcome));
    }
    text
}

fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Time { microseconds } => format!("{microseconds} us is no time"),
        Outcome::Wrong { excess } => format!("its values are wrong, {excess:.1} times what passes"),
        Outcome::NoKernel { reason } => reason.clone(),
    }
}

fn value(arguments: &Arguments, machine: &Machine, report: &TuneReport, seconds: f64) -> Value {
    let refused: Vec<Value> = report
        .refused
        .iter()
        .map(|refused| json!({"params": refused.params.to_string(), "reason": why(&refused.outcome)}))
        .collect();
    json!({
        "timings": arguments.timings.display().to_string(), "architecture": machine.architecture.to_string(),
        "driver": machine.driver.to_string(), "compiler": machine.compiler.to_string(), "recorded": report.recorded,
        "left": report.left, "refused": refused, "seconds": seconds
    })
}
