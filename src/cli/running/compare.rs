//! `warpweave compare`: outputs against stored ones.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use warpweave::graph::legible::legible;
use warpweave::graph::{ElementType, Tensor, npy};
use warpweave::plan::plan::ExecutionPlan;
use warpweave::runtime::bundle::Port;
use warpweave::runtime::json::json;

use super::compare_case::{Case, Failure, is_failure};
use crate::cli::arguments::arrays::{Arrays, Assigned};
use crate::cli::arguments::inputs;
use crate::cli::arguments::program::ProgramArguments;
use crate::cli::error::{CliError, Passed};
use crate::cli::output::Output;

/// Arguments of `compare`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// Arrays under the names of inputs and outputs, or in_<input name> and out_<output name or index>; or a folder of ONNX's
    /// test data, input_0.pb, output_0.pb and so on
    #[arg(long, value_name = "FILE.npz|DIR")]
    io: PathBuf,
    /// The relative error that passes
    #[arg(long, default_value_t = 1e-3)]
    rtol: f64,
    /// The absolute error that passes, beside the relative one
    #[arg(long, default_value_t = 1e-5)]
    atol: f64,
    /// The most vEUs of emulator, text and GPU
    #[arg(long, value_name = "N")]
    veus: Option<usize>,
    /// How many interleavings the emulator runs
    #[arg(long, value_name = "K", default_value_t = 1)]
    interleavings: u64,
    /// The seed of the emulator's first interleaving
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Leave a failure of a bundle in this new folder, from where it can be run again
    #[arg(long, value_name = "DIR")]
    save_failure: Option<PathBuf>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let arrays = Arrays::of_archive(&arguments.io)?;
    let source = arguments.program.load(&arrays)?;
    let signature = source.signature();
    let assigned = arrays.assign(signature, &source.record().constants)?;
    assigned.note_fixed(output);
    let Assigned { inputs: given, outputs: expected, .. } = assigned;
    let inputs = inputs::from_arrays(signature, given, "an array of its name in the --io file")?;
    let missing = |position: &usize| !expected.contains_key(position);
    if let Some(position) = (0..signature.outputs.len()).find(missing) {
        let name = &signature.outputs[position].name;
        let text = format!("{} does not hold the output `{name}`", arguments.io.display());
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
        backend = arguments.program.plan_backend(session.as_ref()).map(|backend| backend.to_string());
        Ok(session.run(&inputs)?)
    });
    let found = match (ran, &case) {
        (Err(error), Some(case)) if is_failure(&error) => {
            case.save(&Failure::Error(&error), units, output)?;
            return Err(error);
        }
        (ran, _) => ran?,
    };
    let tolerance = Tolerance { relative: arguments.rtol, absolute: arguments.atol };
    let mut verdicts = Vec::new();
    for ((position, port), found) in signature.outputs.iter().enumerate().zip(&found) {
        verdicts.push(judge(position, port, found, &expected[&position], tolerance)?);
    }
    let passed = verdicts.iter().all(|verdict| verdict.passed);
    let mut text = String::new();
    for verdict in &verdicts {
        let _ = writeln!(text, "{}", verdict.line);
    }
    let _ = writeln!(text, "{device}: {}", if passed { "all outputs agree" } else { "outputs differ" });
    let outputs: Vec<_> = verdicts.iter().map(|verdict| verdict.record.clone()).collect();
    let value = json!({
        "device": device.to_string(), "backend": backend, "passed": passed, "rtol": tolerance.relative, "atol": tolerance.absolute,
        "outputs": outputs
    });
    if let Some(case) = case.filter(|_| !passed) {
        case.save(&Failure::Outputs { found: &found, report: &value }, units, output)?;
    }
    output.result("compare", &value, &text);
    Ok(passed)
}

#[derive(Clone, Copy)]
struct Tolerance {
    relative: f64,
    absolute: f64,
}

impl Tolerance {
    /// The error of a floating-point element in multiples of what passes; infinite where no tolerance applies.
    fn excess(self, found: f64, expected: f64) -> f64 {
        let error = (found - expected).abs();
        if found == expected || (found.is_nan() && expected.is_nan()) {
            0.0
        } else if !error.is_finite() {
            f64::INFINITY
        } else {
            error / (self.absolute + self.relative * expected.abs()).max(f64::MIN_POSITIVE)
        }
    }
}

struct Verdict {
    passed: bool,
    line: String,
    record: warpweave::runtime::json::Value,
}

fn judge(
    position: usize,
    port: &Port,
    found: &Tensor,
    expected: &Tensor,
    tolerance: Tolerance,
) -> Result<Verdict, CliError> {
    let stood_for = if found.element().is_storage() { npy::stood_for(expected, found.element()) } else { None };
    let expected = stood_for.as_ref().unwrap_or(expected);
    let stands_in = expected.element() == ElementType::F32 && found.element() == ElementType::BF16;
    if found.shape() != expected.shape() || (found.element() != expected.element() && !stands_in) {
        let text = format!("out_{position} is stored as {}, the program gives {}", expected.ty(), found.ty());
        return Err(CliError::WrongOutputs(text));
    }
    let (values, wanted) = (found.to_f64(), expected.to_f64());
    let (integers, wanted_integers) = (found.to_i64(), expected.to_i64());
    let excess = |at: usize| match found.element().is_float() {
        true => tolerance.excess(values[at], wanted[at]),
        false if integers[at] == wanted_integers[at] => 0.0,
        false => f64::INFINITY,
    };
    let worst = (0..values.len()).max_by(|a, b| excess(*a).total_cmp(&excess(*b)));
    let failures = (0..values.len()).filter(|at| excess(*at) > 1.0).count();
    let passed = failures == 0;
    let verdict = if passed { "ok" } else { "differs" };
    let head = format!("out_{position} {} {}: {verdict}", legible(&port.name), found.ty());
    let Some(worst) = worst else {
        let record = json!({"index": position, "name": port.name, "passed": true, "elements": 0});
        return Ok(Verdict { passed: true, line: format!("{head}, empty"), record });
    };
    let (value, wanted) = (values[worst], wanted[worst]);
    let absolute = (value - wanted).abs();
    let relative = if absolute == 0.0 { 0.0 } else { absolute / wanted.abs() };
    let index = coordinates(found, worst);
    let line = format!(
        "{head}, worst at {index:?}: {value:e} instead of {wanted:e}, relative error {relative:.3e}, \
         {failures} of {} elements differ",
        values.len()
    );
    let record = json!({
        "index": position, "name": port.name, "type": found.ty().to_string(), "passed": passed,
        "elements": values.len(), "failures": failures,
        "worst": {
            "index": index, "found": value, "expected": wanted, "absolute": absolute, "relative": relative
        }
    });
    Ok(Verdict { passed, line, record })
}

/// The position of an element in each dimension.
fn coordinates(tensor: &Tensor, mut element: usize) -> Vec<usize> {
    let strides = tensor.shape().strides();
    let coordinate = |stride: usize| {
        let at = element / stride.max(1);
        element %= stride.max(1);
        at
    };
    strides.into_iter().map(coordinate).collect()
}
