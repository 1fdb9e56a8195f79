//! `warpweave models`: the benchmark models as ONNX files.

use std::fmt::Write;
use std::io::Seek;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use warpweave::graph::legible::counted;
use warpweave::models::{self, BuildOptions, Written};
use warpweave::runtime::json::json;
use warpweave::runtime::new_file::NewFile;

use super::error::{CliError, Passed, file_error};
use super::help::version::targets;
use super::output::Output;
use super::output_kinds::OutputKind;
use super::output_paths::{self, OutputFile};

/// Arguments of `models`.
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
    /// Lists the models
    List,
    /// Writes a model, with weights from a seed
    Export(Export),
}

#[derive(Args)]
struct Export {
    /// A name of the list
    name: String,
    /// The file; weights of more than 2 GB go to FILE.data beside it
    #[arg(short, long, value_name = "FILE.onnx")]
    output: PathBuf,
    /// How many examples run at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    batch: usize,
    /// The element type of weights and activations
    #[arg(long, value_enum, default_value_t = Precision::Fp32)]
    precision: Precision,
    /// How recurrent layers are written
    #[arg(long, value_enum, default_value_t = Form::Nodes)]
    form: Form,
    /// Write the same topology with less width, depth and resolution, for tests
    #[arg(long)]
    reduced: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Precision {
    Fp32,
    Fp16,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// LSTM and GRU nodes
    Nodes,
    /// The products and activations of every step
    Unrolled,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    match &arguments.action {
        Action::List => list(output),
        Action::Export(export) => write(export, output)?,
    }
    Ok(true)
}

fn list(output: &Output) {
    let mut text = String::new();
    let mut records = Vec::new();
    for model in models::all() {
        let family = model.family.name();
        let parameters = model.parameters.map_or("-".to_owned(), |parameters| parameters.to_string());
        let _ = writeln!(text, "{:<16} {family:<15} {parameters:>13}  {}", model.name, model.summary);
        records.push(json!({
            "name": model.name, "family": family, "parameters": model.parameters, "summary": model.summary,
            "forms": if model.has_forms() { vec!["nodes", "unrolled"] } else { vec!["nodes"] }
        }));
    }
    output.result("models", &json!({ "models": records }), &text);
}

fn write(export: &Export, output: &Output) -> Result<(), CliError> {
    let options = BuildOptions {
        batch: export.batch,
        precision: match export.precision {
            Precision::Fp32 => models::Precision::Fp32,
            Precision::Fp16 => models::Precision::Fp16,
        },
        form: match export.form {
            Form::Nodes => models::Form::Nodes,
            Form::Unrolled => models::Form::Unrolled,
        },
        scale: if export.reduced { models::Scale::Reduced } else { models::Scale::Full },
    };
    let model = models::build(&export.name, &options)?;
    check_outputs(&model, &export.output)?;
    let written = written(&model, &export.output)?;
    let (parameters, nodes) = (model.parameters(), model.nodes());
    let mut text = format!("{}: {parameters} parameters, {}", written.path.display(), counted(nodes, "node"));
    if let Some(weights) = &written.weights {
        let _ = write!(text, ", weights in {}", weights.display());
    }
    let _ = write!(text, ", {} bytes", written.bytes);
    if let Precision::Fp16 = export.precision {
        let _ = write!(text, "\nfp16: all devices run it ({}); it compiles for {}", DEVICES, targets().join(", "));
    }
    let value = json!({
        "model": model.name, "path": written.path.display().to_string(),
        "weights": written.weights.as_ref().map(|path| path.display().to_string()),
        "parameters": parameters, "nodes": nodes, "bytes": written.bytes
    });
    output.result("export", &value, &text);
    Ok(())
}

/// Whatever `--device` takes.
const DEVICES: &str = "reference, host, emulator, text, machine-code, cuda:N";

fn check_outputs(model: &models::Model, path: &Path) -> Result<(), CliError> {
    let (bytes, whole) = (model.weight_bytes(), OutputFile::new(path, OutputKind::Model));
    let files = match model.data_file(path) {
        Some(data) => vec![whole, OutputFile { bytes, ..OutputFile::new(data, OutputKind::ModelData) }],
        None => vec![OutputFile { bytes, ..whole }],
    };
    output_paths::check_files(&files, &[])
}

/// The model's files, which are seen once all are whole.
fn written(model: &models::Model, path: &Path) -> Result<Written, CliError> {
    let mut files = Vec::new();
    let mut put = |path: &Path, content: &models::Content<'_>| {
        let mut file = NewFile::create(path)?;
        content(&mut file)?;
        let bytes = file.stream_position()?;
        files.push((path.to_owned(), file));
        Ok(bytes)
    };
    let written = model.write(path, &mut put)?;
    for (path, file) in files {
        file.publish().map_err(file_error("write", &path))?;
    }
    Ok(written)
}
