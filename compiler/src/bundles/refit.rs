//! New constants for a bundle: what was searched, planned and compiled for one set of weights serves every other.

use std::collections::BTreeMap;
use std::path::Path;

use warpweave_frontend::{ImportError, ImportOptions};
use warpweave_graph::legible::legible;
use warpweave_graph::pipeline::Machine;
use warpweave_graph::program::StatementId;
use warpweave_graph::program::precision::{Kept, Precision};
use warpweave_graph::{ProgramSkeleton, TensorProgram};
use warpweave_runtime::bundle::{Bundle, BundleError, BundleTarget, BundleWriter, StorageRecord};

use crate::build::Build;
use crate::error::BuildError;
use crate::model::{Model, ModelError};
use crate::storage::{KeepList, Storage};

/// Why a bundle cannot have the constants of a model.
#[derive(Debug, thiserror::Error)]
pub enum RefitError {
    /// The model cannot be imported.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A bundle is refused.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The bundle is of a training step.
    #[error(
        "the bundle is a training step, whose weights are states; train on from a checkpoint, or compile the model again"
    )]
    Training,
    /// The bundle stores floating point in what this version does not know.
    #[error("the bundle stores its floating point in `{0}`, which this version does not know; compile the model again")]
    Precision(String),
    /// The model has other inputs or outputs, or other inputs are fixed.
    #[error("the model is not the bundle's: {0}; compile it")]
    Signature(String),
    /// The model computes something else, or the passes have decided otherwise by its constants.
    #[error("the model is not the bundle's from {} on: {what}; compile it", legible(node))]
    Structure {
        /// The node of the model, or the tensor of its program, where it begins to differ.
        node: String,
        /// How it differs.
        what: &'static str,
    },
}

/// What an import of a model for a bundle is told: the shapes that the bundle has, and which initializers are inputs.
pub fn import_options(bundle: &Bundle) -> ImportOptions {
    let mut options = ImportOptions::default();
    for port in &bundle.manifest().signature.inputs {
        let shapes = if port.default.is_some() { &mut options.arrays } else { &mut options.shapes };
        shapes.insert(port.name.clone(), port.ty.shape.clone());
    }
    options
}

/// Writes to `path` what a fresh build of the model in an ONNX file would write for the targets of a bundle, with the plans and the
/// code that the bundle has. `options` are those of the import, see [`import_options`].
///
/// # Errors
/// The model differs from the bundle's in more than its constants. What the passes decide by constants, such as zeros that they drop and
/// scalars that they fold, is part of what must be equal.
pub fn refit(bundle: &Bundle, model: &Path, options: &ImportOptions, path: &Path) -> Result<(), RefitError> {
    let manifest = bundle.manifest();
    if manifest.training.is_some() {
        return Err(RefitError::Training);
    }
    let mut build = Build::new(Model::import(model, options).map_err(|error| refused(bundle, error))?)?;
    if let Some(storage) = &manifest.storage {
        build = build.stored_in(&stored(storage)?)?;
    }
    check_signature(bundle, &build)?;
    let machines: Vec<Machine> = manifest.targets.keys().map(|target| target.machine()).collect();
    for machine in [Machine::Gpu, Machine::Processor].into_iter().filter(|machine| machines.contains(machine)) {
        check_structure(&bundle.skeleton_for(machine)?, &build.prepared_for(machine).program)?;
    }
    let parts = manifest.targets.keys().map(|&target| Ok((target, bundle.target(target)?)));
    let parts: BTreeMap<BundleTarget, _> = parts.collect::<Result<_, BundleError>>()?;
    let files = if manifest.references.is_empty() { &[][..] } else { &build.model.files };
    let contents = build.contents(parts);
    BundleWriter::begin(&contents.program, files, path)?.finish(&contents)?;
    Ok(())
}

/// Why a model is refused that is imported with the inputs of a bundle.
fn refused(bundle: &Bundle, error: ModelError) -> RefitError {
    let known = |name: &String| bundle.manifest().signature.inputs.iter().any(|input| input.name == *name);
    match error {
        ModelError::Import(ImportError::Choice { culprit, reason }) => {
            RefitError::Signature(format!("{culprit}: {reason}"))
        }
        ModelError::Import(ImportError::UnknownName { name, .. }) if known(&name) => {
            RefitError::Signature(format!("it has no input `{}`", legible(&name)))
        }
        other => other.into(),
    }
}

/// What a bundle's floating point is stored in, and what stayed because it was named or left the range.
fn stored(record: &StorageRecord) -> Result<Storage, RefitError> {
    let precision: Precision =
        record.precision.parse().map_err(|_: String| RefitError::Precision(record.precision.clone()))?;
    let names = |why: Kept| record.kept.get(&why.to_string()).into_iter().flatten();
    let keep = KeepList::new(names(Kept::Named));
    Ok(Storage { precision, keep, beyond: names(Kept::Samples).cloned().collect() })
}

fn check_signature(bundle: &Bundle, build: &Build) -> Result<(), RefitError> {
    let (known, found) = (&bundle.manifest().signature, &build.model.signature);
    let differ = |kind: &str, what: String| RefitError::Signature(format!("{kind} {what}"));
    for (kind, known, found) in [("input", &known.inputs, &found.inputs), ("output", &known.outputs, &found.outputs)] {
        if known.len() != found.len() {
            return Err(differ(kind, format!("numbers are {} and {}", known.len(), found.len())));
        }
        if let Some((known, found)) =
            known.iter().zip(found).find(|(known, found)| (&known.name, &known.ty) != (&found.name, &found.ty))
        {
            let what =
                format!("`{}` ({}) is `{}` ({})", legible(&known.name), known.ty, legible(&found.name), found.ty);
            return Err(differ(kind, what));
        }
    }
    let (known, found) = (&bundle.manifest().model.constants, &build.model.record.constants);
    match known == found {
        true => Ok(()),
        false => Err(RefitError::Signature(format!("{known:?} were fixed, and now {found:?} are"))),
    }
}

/// Whether a program is the one that a skeleton has, but for names and constants.
fn check_structure(known: &ProgramSkeleton, program: &TensorProgram) -> Result<(), RefitError> {
    let found = ProgramSkeleton::of(program);
    let differs = |node: String, what| Err(RefitError::Structure { node, what });
    let place = |statement: StatementId| {
        let nodes = program.names.nodes(&program.statements[statement]);
        nodes.first().cloned().unwrap_or_else(|| program.shown(program.statements[statement].output))
    };
    let mut pairs = known.statements.values().zip(found.statements.iter());
    if let Some((_, (statement, _))) = pairs.find(|(known, (_, found))| *known != *found) {
        return differs(place(statement), "it computes something else");
    }
    if known.statements.len() != found.statements.len() {
        let shorter = found.statements.len() < known.statements.len();
        let what =
            if shorter { "something that the bundle computes is missing" } else { "the bundle computes no more" };
        let at = known.statements.len().min(found.statements.len());
        let statement = found.statements.ids().nth(at.min(found.statements.len().saturating_sub(1)));
        return differs(statement.map_or_else(|| "its beginning".to_owned(), place), what);
    }
    let mut pairs = known.tensors.values().zip(found.tensors.iter());
    if let Some((_, (tensor, _))) = pairs.find(|(known, (_, found))| *known != *found) {
        return differs(program.shown(tensor), "it has another type, or comes from elsewhere");
    }
    match (known.tensors.len(), &known.inputs, &known.outputs) == (found.tensors.len(), &found.inputs, &found.outputs) {
        true => Ok(()),
        false => differs("its constants".to_owned(), "there are more or fewer"),
    }
}
