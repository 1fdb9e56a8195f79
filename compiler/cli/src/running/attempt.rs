//! One attempt at a candidate of `reduce`, in a process of its own: what crashes or hangs ends that process alone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use warpweave::graph::Tensor;
use warpweave::graph::program::text;
use warpweave::reduce::fault::Fault;
use warpweave::runtime::json::json;
use warpweave::runtime::session::{Device, Session};
use warpweave::{OpenOptions, Source, open};

use super::verdict::{Tolerance, judge_all};
use crate::arguments::arrays::Arrays;
use crate::arguments::inputs;
use crate::arguments::program::{ProgramArguments, child_compiler, parse_units};
use crate::error::{CliError, Passed};
use crate::output::Output;

/// What decides whether a candidate fails.
#[derive(Args, Clone, Debug)]
pub struct Bar {
    #[command(flatten)]
    pub tolerance: Tolerance,
    /// A failure is also what takes longer than R times as long as the device of --against
    #[arg(long, value_name = "R")]
    pub slower_than: Option<f64>,
    /// The device that --slower-than compares with: reference or host
    #[arg(long, value_name = "DEVICE", default_value = "host")]
    pub against: Device,
    /// The most vEUs of emulator, text, machine code and GPU
    #[arg(long, value_name = "N", value_parser = parse_units)]
    pub veus: Option<usize>,
    /// The seed of the emulator's interleaving, and of random inputs
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// An error that is planted in what the device runs, for tests
    #[arg(long, hide = true)]
    pub fault: Option<Fault>,
}

/// Arguments of `reduce-attempt`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    #[arg(long)]
    io: PathBuf,
    #[command(flatten)]
    bar: Bar,
}

/// How an attempt ended, as it is told in JSON.
pub const PASSED: &str = "passed";
/// The same of outputs that differ.
pub const DIFFERS: &str = "differs";
/// The same of an error.
pub const REFUSED: &str = "refused";
/// The same of what takes too long.
pub const SLOW: &str = "slow";

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let value = match attempt(arguments, &arguments.io, output) {
        Ok((kind, message)) => json!({"kind": kind, "message": message}),
        Err(error) => json!({"kind": REFUSED, "code": error.code(), "message": error.to_string()}),
    };
    output.result("attempt", &value, "");
    Ok(true)
}

fn attempt(arguments: &Arguments, io: &Path, output: &Output) -> Result<(&'static str, String), CliError> {
    let Arguments { program, bar, .. } = arguments;
    let arrays = Arrays::of_archive(io)?;
    let source = program.load(&arrays, output)?;
    let signature = source.signature().clone();
    let assigned = arrays.assign(&signature, &source.record().constants)?;
    let inputs = inputs::from_arrays(&signature, assigned.inputs, "an array of its name in the --io file")?;
    let options = OpenOptions { units: bar.veus, seed: bar.seed, ..program.options() };
    let mut session = open_with(&source, program.device, &options, bar.fault.as_ref())?;
    let (found, seconds) = run(session.as_mut(), &inputs, bar.fault.as_ref(), &source)?;
    let stored = (&assigned.outputs, &assigned.unknown_outputs);
    let verdicts = judge_all(io, &signature.outputs, &found, stored, bar.tolerance);
    if let Some(verdict) = verdicts.into_iter().find(|verdict| !verdict.passed) {
        return Ok((DIFFERS, verdict.line));
    }
    let Some(ratio) = bar.slower_than else { return Ok((PASSED, String::new())) };
    let mut other = open(&source, bar.against, &options, &child_compiler)?;
    let seconds = fastest(session.as_mut(), &inputs, bar.fault.as_ref(), &source)?.min(seconds);
    let baseline = fastest(&mut other, &inputs, None, &source)?;
    let message = format!("{:.3} ms, {} takes {:.3} ms", seconds * 1e3, bar.against, baseline * 1e3);
    Ok((if seconds > ratio * baseline { SLOW } else { PASSED }, message))
}

fn open_with(
    source: &Source,
    device: Device,
    options: &OpenOptions,
    fault: Option<&Fault>,
) -> Result<Box<dyn Session>, CliError> {
    match fault {
        None => Ok(Box::new(open(source, device, options, &child_compiler)?)),
        Some(fault) => Ok(fault.open(source, device, options, &child_compiler)?),
    }
}

/// How often a run is timed; the fastest counts.
const RUNS: usize = 3;

fn fastest(
    session: &mut dyn Session,
    inputs: &[Tensor],
    fault: Option<&Fault>,
    source: &Source,
) -> Result<f64, CliError> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        best = run(session, inputs, fault, source)?.1.min(best);
    }
    Ok(best)
}

/// Outputs, and the seconds that they took.
fn run(
    session: &mut dyn Session,
    inputs: &[Tensor],
    fault: Option<&Fault>,
    source: &Source,
) -> Result<(Vec<Tensor>, f64), CliError> {
    let start = Instant::now();
    let found = session.run(inputs)?;
    let seconds = session.device_time().unwrap_or_else(|| start.elapsed());
    let delay = match (fault, source) {
        (Some(fault), Source::Model(build)) => fault.delay(&text::print(&build.model.program)),
        _ => Duration::ZERO,
    };
    Ok((found, (seconds + delay).as_secs_f64()))
}
