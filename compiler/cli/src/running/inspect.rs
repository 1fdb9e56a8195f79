//! `warpweave inspect`: what a model or bundle holds.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use warpweave::frontend::{Constant, DeclaredPort, ImportError};
use warpweave::graph::legible::{counted, legible};
use warpweave::plan::plan::backend::PlanBackend;
use warpweave::runtime::bundle::{Bundle, BundleTarget, ModelRecord, Port, Signature, StorageRecord};
use warpweave::runtime::json::{self, Value, json};
use warpweave::runtime::target::Target;
use warpweave::{Build, BuildError, Model, ModelError, OpenError, Source, TargetPart, compile};

use crate::arguments::import::ImportArguments;
use crate::arguments::program::backend_reason;
use crate::error::{CliError, Passed};
use crate::output::Output;

/// Arguments of `inspect`.
#[derive(Args)]
pub struct Arguments {
    /// An ONNX model or a bundle; told apart by content
    #[arg(value_name = "MODEL|BUNDLE")]
    path: PathBuf,
    #[command(flatten)]
    import: ImportArguments,
    /// Print the program instead, as text that parses back
    #[arg(long)]
    program: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// The architecture for which a model's groups are shown, where it has kernels for them.
const SHOWN_TARGET: Target = Target::Sm90a;

/// Runs the command.
pub fn execute(arguments: &Arguments, output: &Output) -> Result<Passed, CliError> {
    let mut text = String::new();
    let source = match Source::load(&arguments.path, &arguments.import.import_options()?) {
        Err(OpenError::Model(ModelError::Import(error @ ImportError::Shapes(_)))) => {
            let value = open_model(&arguments.path, &error, &mut text)?;
            output.result("inspect", &value, &text);
            return Ok(true);
        }
        source => source?,
    };
    if arguments.program {
        let program = program(&source)?;
        output.result("inspect", &json!({"kind": "program", "program": program}), &program);
        return Ok(true);
    }
    let value = match &source {
        Source::Model(build) => model(build, &mut text)?,
        Source::Bundle(bundle) => of_bundle(bundle, &mut text)?,
    };
    output.result("inspect", &value, &text);
    Ok(true)
}

/// The program that GPUs' plans schedule; of a bundle for the host alone, what the host's does.
fn program(source: &Source) -> Result<String, CliError> {
    Ok(match source {
        Source::Model(build) => build.prepared().program.to_string(),
        Source::Bundle(bundle) => bundle.program()?.to_string(),
    })
}

fn signature(signature: &Signature, text: &mut String) -> Value {
    let mut ports = |kind: &str, ports: &[Port]| -> Vec<Value> {
        ports
            .iter()
            .map(|port| {
                let default = default(port);
                let told = default.as_ref().map(|default| format!(", by default {default}")).unwrap_or_default();
                let _ = writeln!(text, "{kind} {}: {}{told}", legible(&port.name), port.ty);
                let mut value = json!({"name": port.name, "type": port.ty.to_string()});
                if let Some(default) = default {
                    value["default"] = json!(default);
                }
                value
            })
            .collect()
    };
    json!({"inputs": ports("input", &signature.inputs), "outputs": ports("output", &signature.outputs)})
}

/// What an input is where nothing is given; of a large tensor its type.
fn default(port: &Port) -> Option<String> {
    port.default.as_ref().map(|default| Constant::from(default.clone()).to_string())
}

/// A model whose shapes are not all chosen: what it declares.
fn open_model(path: &Path, error: &ImportError, text: &mut String) -> Result<Value, CliError> {
    let (inputs, outputs) = Model::declared(path)?;
    let mut ports = |kind: &str, ports: &[DeclaredPort]| -> Vec<Value> {
        let port = |DeclaredPort { name, ty }: &DeclaredPort| {
            let _ = writeln!(text, "{kind} {name}: {ty}");
            json!({"name": name, "type": ty})
        };
        ports.iter().map(port).collect()
    };
    let signature = json!({"inputs": ports("input", &inputs), "outputs": ports("output", &outputs)});
    let _ = writeln!(text, "{error}\n{}", error.remedy());
    Ok(json!({"kind": "model", "signature": signature, "open": error.to_string(), "help": error.remedy()}))
}

/// What is no input because it was fixed.
fn fixed(record: &ModelRecord, text: &mut String) {
    for (name, value) in &record.constants {
        let _ = writeln!(text, "fixed {name}: {value}");
    }
}

fn model(build: &Build, text: &mut String) -> Result<Value, CliError> {
    let model = &build.model;
    let _ = writeln!(text, "ONNX model {}", legible(&model.record.name));
    fixed(&model.record, text);
    let ports = signature(&model.signature, text);
    let (part, reason) = shown(build)?;
    let program = &build.prepared_for(part.target.machine()).program;
    let constants = program.tensors.ids().filter_map(|id| program.constant(id));
    let bytes: usize = constants.map(|constant| constant.bytes().len()).sum();
    if let Some(reason) = &reason {
        let _ = writeln!(text, "on the host alone: {reason}");
    }
    let groups = &part.partition.groups;
    let operations: u64 = groups.iter().map(|group| group.kernel.body().operations()).sum();
    let microseconds: f64 = groups.iter().map(|group| group.microseconds).sum();
    let statements = counted(program.statements.len(), "statement");
    let _ = writeln!(text, "{statements} in {} for {}", counted(groups.len(), "fused group"), part.target);
    let _ = writeln!(text, "constants {bytes} bytes, {operations} scalar operations, {microseconds:.1} us estimated");
    for (position, group) in groups.iter().enumerate() {
        let statements = counted(group.statements.len(), "statement");
        let _ = writeln!(
            text,
            "  {}: {} of {statements}, {:.2} us",
            program.names.labelled(format_args!("group {position}"), &group.origins),
            group.kernel.params(),
            group.microseconds
        );
    }
    Ok(json!({
        "kind": "model", "name": model.record.name, "blake3": model.record.blake3, "constants": model.record.constants, "signature": ports,
        "target": part.target.to_string(), "reason": reason,
        "statements": program.statements.len(), "groups": groups.len(), "constant_bytes": bytes,
        "operations": operations, "estimated_microseconds": microseconds
    }))
}

/// The part that is shown of a model: the device's, or the host's and why there is no other.
fn shown(build: &Build) -> Result<(TargetPart, Option<String>), CliError> {
    match compile(build, BundleTarget::Gpu(SHOWN_TARGET), None, &mut |_| {}) {
        Ok(part) => Ok((part, None)),
        Err(reason @ BuildError::NoKernels { .. }) => {
            Ok((compile(build, BundleTarget::Host, None, &mut |_| {})?, Some(reason.to_string())))
        }
        Err(other) => Err(other.into()),
    }
}

fn of_bundle(bundle: &Bundle, text: &mut String) -> Result<Value, CliError> {
    let manifest = bundle.manifest();
    let _ = writeln!(
        text,
        "bundle of {}, format {}, by {}",
        legible(&manifest.model.name),
        manifest.format_version,
        legible(&manifest.producer)
    );
    let _ = writeln!(text, "model BLAKE3 {}", manifest.model.blake3);
    fixed(&manifest.model, text);
    signature(&manifest.signature, text);
    if let Some(StorageRecord { precision, kept }) = &manifest.storage {
        let kept: Vec<String> = kept.iter().map(|(why, names)| format!("{why} ({})", names.len())).collect();
        let _ = writeln!(text, "stored in {precision}; in FP32 stay {}", kept.join(", "));
    }
    for (number, file) in manifest.references.files.iter().enumerate() {
        let places = manifest.references.tensors.values().filter(|place| place.file == number);
        let (count, bytes) = places.fold((0, 0), |(count, bytes), place| (count + 1, bytes + place.bytes));
        let _ = writeln!(text, "{} of {bytes} bytes beside it, in {}", counted(count, "constant"), file.name);
    }
    for (&target, record) in &manifest.targets {
        // Decoding verifies: what is shown can run.
        let part = bundle.target(target)?;
        let evidence = part.plan.plan.evidence();
        let _ = write!(text, "{target}: {}, {}", record.backend, backend_reason(target, &record.backend_reason));
        let plan = part.plan.plan.plan();
        let _ = match record.backend {
            PlanBackend::Persistent => {
                write!(text, "; {}, {}", counted(record.units, "vEU"), counted(evidence.waits, "wait"))
            }
            PlanBackend::CudaGraph => write!(text, "; {}", counted(plan.launches(), "node")),
            PlanBackend::Mixed => {
                let kinds: Vec<String> = record.segments.iter().map(|segment| segment.backend.to_string()).collect();
                let (units, waits) = (counted(record.units, "vEU"), counted(evidence.waits, "wait"));
                let launches = counted(plan.launches(), "launch");
                write!(text, "; {}, {units}, {waits}, {launches}", kinds.join(" then "))
            }
        };
        let _ = write!(text, ", {}", counted(evidence.tasks, "rTask"));
        let _ = write!(text, ", arena {} bytes, weights {} bytes", record.arena_bytes, record.weights_bytes);
        if let Some((major, minor)) = record.minimum_driver {
            let _ = write!(text, ", {} threads and {} shared bytes a block", record.threads, record.shared_bytes);
            let _ = write!(text, ", native code for CUDA {major}.{minor} drivers or newer");
        }
        text.push('\n');
    }
    for (name, entry) in &manifest.entries {
        let _ = writeln!(text, "  {name}: {} bytes, {}", entry.bytes, &entry.blake3[..entry.blake3.len().min(16)]);
    }
    let mut value = json::to_value(manifest).unwrap_or(Value::Null);
    value["kind"] = json!("bundle");
    for (position, port) in manifest.signature.inputs.iter().enumerate() {
        if let Some(default) = default(port) {
            value["signature"]["inputs"][position]["default"] = json!(default);
        }
    }
    Ok(value)
}
