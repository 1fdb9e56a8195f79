//! What an error is about, for programs that read it.

use std::path::Path;

use warpweave::frontend::{ImportError, MissingShape, UnsupportedNode, UnsupportedTensor};
use warpweave::graph::autodiff::AutodiffError;
use warpweave::graph::training::TrainingError;
use warpweave::models;
use warpweave::program_file::ProgramFileError;
use warpweave::refit::RefitError;
use warpweave::runtime::bundle::BundleError;
use warpweave::runtime::checkpoint::CheckpointError;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::npz::NpzError;
use warpweave::runtime::nvrtc::NvrtcError;
use warpweave::runtime::session::{IndexError, SessionError};
use warpweave::runtime::toolkit::fetch::FetchError;
use warpweave::{ArchFileError, BuildError, DeviceCompileError, ModelError, OpenError, RefusedNode, TimingsFileError};
use warpweave::{CompileError, WithoutKernel};
use warpweave_measure::bench::BenchError;
use warpweave_measure::lab::run::RunError;
use warpweave_measure::lab::{CostsError, LabError};

use super::error::CliError;

/// What an error is about: objects with a `kind` and a `name`; `reason` and the names that there are, `known`, where the error
/// has them.
pub fn culprits(error: &CliError) -> Vec<Value> {
    match error {
        CliError::Open(error) => of_opening(error),
        CliError::Refit(RefitError::Structure { node, what }) => vec![reasoned("node", node, what)],
        CliError::Refit(_) => Vec::new(),
        CliError::NoDevice { device, reason } => vec![reasoned("device", &device.to_string(), reason)],
        CliError::Arch(ArchFileError::File { path, .. } | ArchFileError::Content { path, .. })
        | CliError::Zoo(models::ModelError::Write { path, .. })
        | CliError::Lab(LabError::File { path, .. } | LabError::Format { path, .. } | LabError::Version { path, .. })
        | CliError::LabRun(RunError::File { path, .. })
        | CliError::LabCosts(CostsError::File { path, .. })
        | CliError::Bench(
            BenchError::File { path, .. }
            | BenchError::Results { path, .. }
            | BenchError::Schema { path, .. }
            | BenchError::Peer { path, .. }
            | BenchError::NoPeer { path, .. },
        )
        | CliError::File { path, .. }
        | CliError::Npy { path, .. }
        | CliError::Tensor { path, .. }
        | CliError::ArchiveForArray { path, .. }
        | CliError::WrongKind { path, .. }
        | CliError::Replaced { path, .. }
        | CliError::Space { path, .. }
        | CliError::OutputIsInput { output: path, .. } => vec![file(path)],
        CliError::LeftOut { target, reason } => vec![reasoned("target", target, reason)],
        CliError::Npz(error) => of_archive(error),
        CliError::Zoo(models::ModelError::Unknown { name, nearest }) => {
            vec![json!({"kind": "model", "name": name, "known": nearest})]
        }
        CliError::Zoo(models::ModelError::Batch { model } | models::ModelError::Form { model }) => {
            vec![named("model", model)]
        }
        CliError::UnknownArray { path, name, inputs, outputs } => {
            let known: Vec<&String> = inputs.iter().chain(outputs).collect();
            vec![json!({"kind": "array", "name": name, "known": known}), file(path)]
        }
        CliError::UnknownInput { name, known } => vec![json!({"kind": "input", "name": name, "known": known})],
        CliError::MissingInput { name, .. } | CliError::WrongInput { name, .. } => {
            vec![json!({"kind": "input", "name": name})]
        }
        CliError::Fetch(
            FetchError::Occupied(path) | FetchError::Unpack { path, .. } | FetchError::File { path, .. },
        ) => vec![file(path)],
        CliError::Fetch(FetchError::NoPip(_) | FetchError::Pip { .. } | FetchError::TimeLimit) => Vec::new(),
        CliError::Usage(text) => options(text),
        CliError::Checkpoint(CheckpointError::File { path, .. } | CheckpointError::Format { path, .. }) => {
            vec![file(path)]
        }
        CliError::NotFinite { step, .. } | CliError::SpoiltState { step, .. } | CliError::Interrupted { step, .. } => {
            vec![json!({"kind": "step", "name": step.to_string()})]
        }
        CliError::StandardOutput(_) => vec![named("file", "standard output")],
        CliError::LabRun(RunError::UnknownSteps { unknown, known }) => {
            unknown.iter().map(|name| json!({"kind": "step", "name": name, "known": known})).collect()
        }
        CliError::WrongOutputs(_)
        | CliError::LabCosts(CostsError::Command { .. } | CostsError::NoFixtures | CostsError::NoTimes) => Vec::new(),
    }
}

fn of_opening(error: &OpenError) -> Vec<Value> {
    match error {
        OpenError::Model(ModelError::Import(error)) => of_import(error),
        OpenError::Model(ModelError::ProgramFile(error)) => match error {
            ProgramFileError::File { path, .. } | ProgramFileError::Text { path, .. } => vec![file(path)],
            ProgramFileError::Constants(error) => of_archive(error),
        },
        OpenError::Model(ModelError::Training(error)) => of_training(error),
        OpenError::Build(error) => of_build(error),
        OpenError::Bundle(error) => of_bundle(error),
        OpenError::Session(error) => of_session(error),
        OpenError::Model(ModelError::Rewrite(_) | ModelError::Program(_)) | OpenError::NoCompiler(_) => Vec::new(),
    }
}

fn of_build(error: &BuildError) -> Vec<Value> {
    match error {
        BuildError::NoKernels { nodes, .. } => {
            let node = |RefusedNode { node, reason }: &RefusedNode| reasoned("node", node, reason);
            nodes.iter().map(node).collect()
        }
        BuildError::Compile(CompileError::Lower(WithoutKernel { error, place })) => {
            vec![reasoned("node", place, &error.to_string())]
        }
        BuildError::Timings(
            TimingsFileError::File { path, .. }
            | TimingsFileError::Text { path, .. }
            | TimingsFileError::Foreign { path, .. },
        ) => vec![file(path)],
        BuildError::Tasks { name, .. } => vec![named("value", name)],
        BuildError::TrainingPrecision(precision) => vec![named("precision", precision.name())],
        BuildError::NothingKept { pattern, .. } => vec![named("value", pattern)],
        BuildError::NoCompiler(target)
        | BuildError::Registers { target, .. }
        | BuildError::Device(
            DeviceCompileError::Process { target, .. }
            | DeviceCompileError::Target { target, .. }
            | DeviceCompileError::MemoryLimit { target, .. }
            | DeviceCompileError::Crash { target, .. }
            | DeviceCompileError::TimeLimit { target, .. }
            | DeviceCompileError::Nvrtc(NvrtcError::Compile { target, .. }),
        ) => vec![named("target", &target.to_string())],
        BuildError::Bundle(error) => of_bundle(error),
        BuildError::Compile(_) | BuildError::Device(_) | BuildError::Cubin(_) => Vec::new(),
    }
}

fn of_training(error: &TrainingError) -> Vec<Value> {
    match error {
        TrainingError::Output { wanted, known } => vec![json!({"kind": "output", "name": wanted, "known": known})],
        TrainingError::Loss { output, error } => vec![reasoned("output", output, &error.to_string())],
        TrainingError::Input(name) => vec![named("input", name)],
        TrainingError::NoPath { tensors, nodes } => {
            let tensors = tensors.iter().map(|tensor| named("constant", tensor));
            tensors.chain(nodes.iter().map(|node| named("node", node))).collect()
        }
        TrainingError::StatisticsApart { node, kept, frozen } => {
            vec![named("node", node), named("constant", kept), named("constant", frozen)]
        }
        TrainingError::StatisticsOfPlaces(node) => vec![named("node", node)],
        TrainingError::SharedStatistic { name, keeper, reader, .. } => {
            vec![named("constant", name), named("node", keeper), named("node", reader)]
        }
        TrainingError::Name(name) => vec![named("constant", name)],
        TrainingError::Autodiff(AutodiffError::Procedure { node }) => vec![named("node", node)],
        TrainingError::Counted | TrainingError::Nothing | TrainingError::Rewrite(_) => Vec::new(),
    }
}

fn of_session(error: &SessionError) -> Vec<Value> {
    match error {
        SessionError::Bundle(error) => of_bundle(error),
        SessionError::Unavailable { device, reason } => vec![reasoned("device", &device.to_string(), reason)],
        SessionError::Index(IndexError { tensor, .. }) => {
            let kind = if tensor.input.is_some() { "input" } else { "value" };
            vec![named(kind, tensor.name.as_ref().unwrap_or(&tensor.id.to_string()))]
        }
        SessionError::InputType { position, .. } => vec![named("input", &position.to_string())],
        _ => Vec::new(),
    }
}

fn of_archive(error: &NpzError) -> Vec<Value> {
    match error {
        NpzError::File { path, .. } | NpzError::Archive { path, .. } | NpzError::OneArray { path } => vec![file(path)],
        NpzError::Array { path, name, .. } => vec![named("array", name), file(path)],
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
            let tensor = |UnsupportedTensor { place, name, reason, .. }: &UnsupportedTensor| {
                reasoned(&place.to_string(), name, reason)
            };
            let node = |UnsupportedNode { node, domain, operator, opset, reason, .. }: &UnsupportedNode| {
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
