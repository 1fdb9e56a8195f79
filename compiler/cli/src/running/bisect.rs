//! Which tensors a model in 16 bits goes wrong at.

use std::fmt::Write;
use std::path::Path;

use warpweave::graph::Tensor;
use warpweave::graph::legible::legible;
use warpweave::precision::{Bisection, Deviation, bisect};
use warpweave::runtime::json::{Value, json};
use warpweave::{Build, Storage};

use super::verdict::Tolerance;
use crate::error::CliError;
use crate::output::write_file;
use crate::output_kinds::{OutputKind, TextMark};
use crate::output_paths::{self, OutputFile};

/// How a list of names begins.
const HEAD: &str = "# Tensors that stay in FP32, for --keep-f32 @FILE.\n";

/// Refuses a list that cannot be written, or would replace another file.
pub fn check_list(path: &Path, inputs: &[std::path::PathBuf]) -> Result<(), CliError> {
    output_paths::check_files(&[OutputFile::new(path, OutputKind::Text(TextMark::Begins(HEAD)))], inputs)
}

/// Finds the first tensor beyond the tolerance and a list of tensors with which in FP32 the outputs pass, and writes that to `list`.
/// Text and JSON of what was found.
pub fn find(
    build: &Build,
    storage: &Storage,
    inputs: &[Tensor],
    most_error: f64,
    pass: &dyn Fn(&[Tensor]) -> bool,
    list: &Path,
) -> Result<(String, Value), CliError> {
    let found = bisect(build, storage, inputs, most_error, pass)?;
    if let Some(names) = &found.keep {
        let text = names.iter().fold(HEAD.to_owned(), |text, name| text + name + "\n");
        write_file(list, text.as_bytes())?;
    }
    Ok((told(&found, storage, most_error, list), record(&found)))
}

/// The error over a tensor's largest value that these outputs pass with; the least of all.
pub fn most_error<'t>(tolerance: Tolerance, expected: impl Iterator<Item = &'t Tensor>) -> f64 {
    if let Some(error) = tolerance.scaled_error {
        return error;
    }
    let largest = |tensor: &Tensor| {
        let values = tensor.to_f64().into_iter().map(f64::abs);
        values.filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let largest = expected.filter(|tensor| tensor.element().is_float()).map(largest).fold(0.0, f64::max);
    tolerance.rtol + if largest > 0.0 { tolerance.atol / largest } else { 0.0 }
}

fn told(found: &Bisection, storage: &Storage, most_error: f64, list: &Path) -> String {
    let mut text = String::new();
    let precision = storage.precision;
    let _ = match &found.first {
        Some(Deviation { tensor, nodes, error }) => {
            let nodes = if nodes.is_empty() { String::new() } else { format!(", of {}", legible(&nodes.join(", "))) };
            let how = match error.is_finite() {
                true => format!("its error is {error:.2e} of its largest value, and {most_error:.2e} is accepted"),
                false => "it overflows".to_owned(),
            };
            writeln!(text, "the first tensor beyond the tolerance is {tensor}{nodes}: {how}")
        }
        None => writeln!(text, "no inner tensor has an error beyond {most_error:.2e} of its largest value"),
    };
    let _ = match &found.keep {
        Some(names) => writeln!(
            text,
            "the outputs agree on the host in {precision} with {} tensor{} in FP32, after {} runs: --keep-f32 @{}",
            names.len(),
            if names.len() == 1 { "" } else { "s" },
            found.runs,
            list.display()
        ),
        None => writeln!(text, "the outputs differ on the host in FP32, too; no list is written"),
    };
    text
}

fn record(found: &Bisection) -> Value {
    let first = found.first.as_ref().map(|Deviation { tensor, nodes, error }| {
        json!({"tensor": tensor, "nodes": nodes, "error": error.is_finite().then_some(*error)})
    });
    json!({"first": first, "keep_f32": found.keep, "runs": found.runs})
}
