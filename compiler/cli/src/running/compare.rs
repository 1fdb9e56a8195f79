//! `warpweave compare`: outputs against stored ones.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use warpweave::graph::Tensor;
use warpweave::graph::legible::legible;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::runtime::json::json;
use warpweave::runtime::session::Session;

use super::bisect;
use super::compare_case::{Case, Failure, is_failure};
use super::verdict::{Tolerance, judge_all};
use crate::arguments::arrays::{Arrays, Assigned};
use crate::arguments::inputs;
use crate::arguments::program::{ProgramArguments, parse_units};
use crate::error::{CliError, Passed};
use crate::output::Output;

/// Arguments of `compare`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// Arrays under the names of inputs and outputs, or in_<input name> and out_<output name or index>; or a folder of ONNX's
    /// test data, input_0.pb, output_0.pb and so on
    #[arg(long, value_name = "FILE.npz|DIR")]
    io: PathBuf,
    #[command(flatten)]
    tolerance: Tolerance,
    /// The most vEUs of emulator, text, machine code and GPU
    #[arg(long, value_name = "N", value_parser = parse_units)]
    veus: Option<usize>,
    /// How many interleavings the emulator runs; more than one of machine code are of weak memory
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    interleavings: u64,
    /// The seed of the first interleaving
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where outputs of a model in 16 bits differ: name the first tensor beyond the tolerance, and write to this file which tensors
    /// in FP32 make the outputs agree, for --keep-f32 @FILE. All of this on the host
    #[arg(long, value_name = "FILE", requires = "precision", conflicts_with = "save_failure")]
    bisect: Option<PathBuf>,
    /// Leave a failure of a bundle in this new folder, from where it can be run again
    #[arg(long, value_name = "DIR")]
    save_failure: Option<PathBuf>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let arrays = Arrays::of_archive(&arguments.io)?;
    let source = arguments.program.load(&arrays, output)?;
    let exact = arguments.bisect.as_ref().map(|list| {
        let files = source.files().into_iter().chain(arguments.program.files()).chain([arguments.io.clone()]);
        bisect::check_list(list, &files.collect::<Vec<_>>())?;
        arguments.program.load_model(&arrays)
    });
    let exact = exact.transpose()?;
    let signature = source.signature();
    let assigned = arrays.assign(signature, &source.record().constants)?;
    assigned.note_fixed(output);
    let Assigned { inputs: given, outputs: expected, unknown_outputs: unknown, .. } = assigned;
    let inputs = inputs::from_arrays(signature, given, "an array of its name in the --io file")?;
    if expected.is_empty() && unknown.is_empty() && !signature.outputs.is_empty() {
        let names: Vec<_> = signature.outputs.iter().map(|port| legible(&port.name)).collect();
        let text = format!("{} holds none of the outputs {}", arguments.io.display(), names.join(", "));
        return Err(CliError::WrongOutputs(text));
    }
    let defaults = arguments.program.options();
    let options = warpweave::OpenOptions {
        units: arguments.veus,
        interleavings: arguments.interleavings,
        seed: arguments.seed,
        ..defaults
    };
    let device = arguments.program.device;
    let case = arguments.save_failure.as_deref().map(|folder| Case::new(folder, &source, &arguments.io, device));
    let case = case.transpose()?;
    let (mut units, mut backend) = (None, None);
    let ran = arguments.program.open(&source, &options, output).and_then(|mut session| {
        units = session.execution_plan().map(ExecutionPlan::units);
        backend = arguments.program.plan_backend(&session).map(|backend| backend.to_string());
        Ok(session.run(&inputs)?)
    });
    let found = match (ran, &case) {
        (Err(error), Some(case)) if is_failure(&error) => {
            case.save(&Failure::Error(&error), units, output)?;
            return Err(error);
        }
        (ran, _) => ran?,
    };
    let tolerance = arguments.tolerance;
    let verdicts = judge_all(&arguments.io, &signature.outputs, &found, (&expected, &unknown), tolerance);
    let passed = verdicts.iter().all(|verdict| verdict.passed);
    let mut text = String::new();
    for verdict in &verdicts {
        let _ = writeln!(text, "{}", verdict.line);
    }
    let _ = writeln!(text, "{device}: {}", if passed { "all outputs agree" } else { "outputs differ" });
    let bisected = match (&arguments.bisect, exact.filter(|_| !passed)) {
        (Some(list), Some(exact)) => {
            let storage = arguments.program.storage(&exact, output)?;
            let most_error = bisect::most_error(tolerance, expected.values());
            let pass = |found: &[Tensor]| {
                let stored = (&expected, &unknown);
                judge_all(&arguments.io, &signature.outputs, found, stored, tolerance)
                    .iter()
                    .all(|verdict| verdict.passed)
            };
            Some(bisect::find(&exact, &storage, &inputs, most_error, &pass, list)?)
        }
        _ => None,
    };
    let bisected = bisected.map(|(told, value)| {
        text.push_str(&told);
        value
    });
    let outputs: Vec<_> = verdicts.iter().map(|verdict| verdict.record.clone()).collect();
    let value = json!({
        "device": device.to_string(), "backend": backend, "passed": passed, "rtol": tolerance.rtol, "atol": tolerance.atol,
        "scaled_error": tolerance.scaled_error, "min_correlation": tolerance.min_correlation, "outputs": outputs, "bisected": bisected
    });
    if let Some(case) = case.filter(|_| !passed) {
        case.save(&Failure::Outputs { found: &found, report: &value }, units, output)?;
    }
    output.result("compare", &value, &text);
    Ok(passed)
}
