//! `refit`: a bundle with the constants of another model.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use warpweave::refit::{import_options, refit};
use warpweave::runtime::bundle::Bundle;
use warpweave::runtime::json::json;

use crate::arguments::import::InputChoices;
use crate::error::{CliError, Passed, file_error};
use crate::output::Output;
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// What is refitted.
#[derive(Args)]
pub struct Arguments {
    /// The bundle whose plans and code serve
    bundle: PathBuf,
    /// The model whose constants are taken: an ONNX model that differs from the bundle's in nothing else
    model: PathBuf,
    /// Where the new bundle goes; the old one may be replaced
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    inputs: InputChoices,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let start = Instant::now();
    output_paths::check_place(&arguments.output)?;
    let bundle = Bundle::open(&arguments.bundle)?;
    let options = arguments.inputs.added_to(import_options(&bundle))?;
    let size = fs::metadata(&arguments.bundle).map_err(file_error("read", &arguments.bundle))?.len();
    let mut files = arguments.inputs.files();
    files.push(arguments.model.clone());
    let written = OutputFile { bytes: size, ..OutputFile::new(&arguments.output, OutputKind::Bundle) };
    output_paths::check_files(&[written], &files)?;
    refit(&bundle, &arguments.model, &options, &arguments.output)?;
    let bytes = fs::metadata(&arguments.output).map_err(file_error("read", &arguments.output))?.len();
    let (path, seconds) = (arguments.output.display().to_string(), start.elapsed().as_secs_f64());
    let value = json!({"bundle": path, "bytes": bytes, "seconds": seconds});
    output.result("refit", &value, &format!("{path}: {bytes} bytes, refitted in {seconds:.2} s"));
    Ok(true)
}
