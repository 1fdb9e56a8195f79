//! `warpweave export-weights`: a model with tensors that were trained.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use warpweave::frontend::replace_initializers;
use warpweave::graph::training::OPTIMIZER_STATES;
use warpweave::runtime::checkpoint::Checkpoint;
use warpweave::runtime::json::json;

use crate::arguments::program::refuse_bundle;
use crate::error::{CliError, Passed, file_error};
use crate::output::{Output, write_file};
use crate::output_kinds::OutputKind;
use crate::output_paths::{self, OutputFile};

/// Arguments of `export-weights`.
#[derive(Args)]
pub struct Arguments {
    /// The ONNX model that the training step was made from
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Tensors under the names of the model's initializers, which `train --save` has written
    #[arg(value_name = "TENSORS")]
    weights: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "FILE.onnx")]
    output: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    refuse_bundle(&arguments.model)?;
    let bytes = fs::metadata(&arguments.model).map_err(file_error("read", &arguments.model))?.len();
    let written = OutputFile { bytes, ..OutputFile::new(&arguments.output, OutputKind::TrainedModel) };
    output_paths::check_files(&[written], &[arguments.model.clone(), arguments.weights.clone()])?;
    let mut found = Checkpoint::read(&arguments.weights)?;
    found.tensors.retain(|name, _| !name.starts_with(OPTIMIZER_STATES));
    let bytes = fs::read(&arguments.model).map_err(file_error("read", &arguments.model))?;
    let (written, replaced) = replace_initializers(&bytes, &found.tensors).map_err(|reason| {
        CliError::Usage(format!("{} cannot be given these tensors: {reason}", arguments.model.display()))
    })?;
    write_file(&arguments.output, &written)?;
    let path = arguments.output.display().to_string();
    let text = format!("{path}: {replaced} initializers replaced\n");
    output.result("export-weights", &json!({ "model": path, "replaced": replaced }), &text);
    Ok(true)
}
