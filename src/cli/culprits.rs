//! What an error is about, for programs that read it.

use std::path::Path;

use warpweave::frontend::{ImportError, MissingShape, UnsupportedNode, UnsupportedTensor};
use warpweave::runtime::bundle::BundleError;
use warpweave::runtime::checkpoint::CheckpointError;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::npz::NpzError;
use warpweave::runtime::session::SessionError;
use warpweave::{BuildError, ModelError, OpenError, RefusedNode};

use super::error::CliError;

/// What an error is about: objects with a `kind` and a `name`; `reason` and the names that there are, `known`, where the error
/// has them.
pub fn culprits(error: &CliError) -> Vec<Value> {
    match error {
        CliError::Open(OpenError::Model(ModelError::Import(error))) => of_import(error),
        CliError::Open(OpenError::Build(BuildError::NoKernels { nodes, .. })) => {
            let node = |RefusedNode { node, reason }: &RefusedNode| reasoned("node", node, reason);
            nodes.iter().map(node).collect()
        }
        CliError::Open(OpenError::Build(BuildError::Bundle(error)) | OpenError::Bundle(error)) => of_bundle(error),
        CliError::Open(OpenError::Session(SessionError::Bundle(error))) => of_bundle(error),
        CliError::Open(OpenError::Session(SessionError::Unavailable { device, reason }))
        | CliError::NoDevice { device, reason } => vec![reasoned("device", &device.to_string(), reason)],
        CliError::File { path, .. }
        | CliError::Npy { path, .. }
        | CliError::Tensor { path, .. }
        | CliError::ArchiveForArray { path, .. }
        | CliError::WrongKind { path, .. }
        | CliError::OutputIsInput { output: path, .. }
        | CliError::Npz(NpzError::File { path, .. } | NpzError::Archive { path, .. } | NpzError::OneArray { path }) => {
            vec![file(path)]
        }
        CliError::Npz(NpzError::Array { path, name, .. }) => vec![json!({"kind": "array", "name": name}), file(path)],
        CliError::UnknownArray { path, name, inputs, outputs } => {
            let known: Vec<&String> = inputs.iter().chain(outputs).collect();
            vec![json!({"kind": "array", "name": name, "known": known}), file(path)]
        }
        CliError::UnknownInput { name, known } => vec![json!({"kind": "input", "name": name, "known": known})],
        CliError::MissingInput { name, .. } | CliError::WrongInput { name, .. } => {
            vec![json!({"kind": "input", "name": name})]
        }
        CliError::Usage(text) => options(text),
        CliError::Checkpoint(CheckpointError::File { path, .. } | CheckpointError::Format { path, .. }) => {
            vec![file(path)]
        }
        CliError::NotFinite { step, .. } | CliError::Interrupted { step, .. } => {
            vec![json!({"kind": "step", "name": step.to_string()})]
        }
        CliError::Open(_)
        | CliError::Zoo(_)
        | CliError::Arch(_)
        | CliError::WrongOutputs(_)
        | CliError::StandardOutput(_)
        | CliError::Bench(_)
        | CliError::Lab(_) => Vec::new(),
    }
}

fn of_import(error: &ImportError) -> Vec<Value> {
    match error {
        ImportError::File { path, .. } => vec![file(path)],
        ImportError::Limit { culprit, .. } => vec![named("model", culprit)],
        ImportError::Decode { culprit, .. } => vec![named("file", culprit)],
        ImportError::Tensor(_) => Vec::new(),
        ImportError::Invalid { culprit, reason } => vec![reasoned("value", culprit, reason)],
        ImportError::Choice { culprit, reason } => vec![reasoned("value", culprit, reason)],
        ImportError::Weight { tensor, error } => vec![reasoned("constant", tensor, &error.to_string())],
        ImportError::UnknownName { name, inputs, dimensions } => {
            let known: Vec<&String> = inputs.iter().chain(dimensions).collect();
            vec![json!({"kind": "name", "name": name, "known": known})]
        }
        ImportError::Constant { input, reason } => vec![reasoned("input", input, reason)],
        ImportError::Shapes(missing) => {
            let input = |MissingShape { input, dimensions }: &MissingShape| json!({"kind": "input", "name": input, "dimensions": dimensions});
            missing.iter().map(input).collect()
        }
        ImportError::Batch { inputs, .. } => inputs.iter().map(|input| named("input", input)).collect(),
        ImportError::Unsupported(unsupported) => {
            let tensor = |UnsupportedTensor { place, name, holds }: &UnsupportedTensor| {
                reasoned(&place.to_string(), name, &format!("it holds {holds}"))
            };
            let node = |UnsupportedNode { node, domain, operator, opset, reason }: &UnsupportedNode| {
                json!({
                    "kind": "node", "name": node, "domain": domain, "operator": operator, "opset": opset, "reason": reason
                })
            };
            unsupported.tensors.iter().map(tensor).chain(unsupported.nodes.iter().map(node)).collect()
        }
    }
}

fn of_bundle(error: &BundleError) -> Vec<Value> {
    match error {
        BundleError::File { path, .. }
        | BundleError::Archive { path, .. }
        | BundleError::Weights { path, .. }
        | BundleError::Apart { file: path } => vec![file(path)],
        BundleError::Foreign { name, .. } => vec![named("entry", name)],
        BundleError::Missing(entry) => vec![named("entry", &entry.to_string())],
        BundleError::Damaged { entry, reason } => vec![reasoned("entry", &entry.to_string(), reason)],
        BundleError::Target { wanted, held } => {
            let known: Vec<String> = held.iter().map(ToString::to_string).collect();
            vec![json!({"kind": "target", "name": wanted, "known": known})]
        }
        BundleError::Plan { target, reason } => vec![reasoned("target", &target.to_string(), reason)],
        BundleError::Version { .. } | BundleError::Program(_) => Vec::new(),
    }
}

/// The options that a message names, each once.
fn options(text: &str) -> Vec<Value> {
    let mut found: Vec<&str> = Vec::new();
    for word in text.split(|character: char| !character.is_ascii_alphanumeric() && character != '-') {
        if word.len() > 2 && word.starts_with("--") && !found.contains(&word) {
            found.push(word);
        }
    }
    found.into_iter().map(|option| named("option", option)).collect()
}

fn file(path: &Path) -> Value {
    named("file", &path.display().to_string())
}

fn named(kind: &str, name: &str) -> Value {
    json!({"kind": kind, "name": name})
}

fn reasoned(kind: &str, name: &str, reason: &str) -> Value {
    json!({"kind": kind, "name": name, "reason": reason})
}
