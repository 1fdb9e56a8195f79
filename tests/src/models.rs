//! The exported models of this crate's folder `models`.

use std::path::{Path, PathBuf};

use warpweave::frontend::{ImportOptions, import};
use warpweave::graph::TensorProgram;
use warpweave::graph::lower;

use crate::suite::is_full;

/// A model as one exporter wrote it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Model {
    /// The folder's name and the exporter's.
    pub name: String,
    /// The ONNX file.
    pub path: PathBuf,
}

/// The least number of models, so that lost files fail.
const FEWEST: usize = 22;

/// All models, by name.
///
/// # Panics
///
/// Panics if models are missing.
pub fn all() -> Vec<Model> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut models = Vec::new();
    for entry in
        std::fs::read_dir(&folder).expect("the models are there").map(|entry| entry.expect("a readable folder"))
    {
        for exporter in ["torchscript", "dynamo"] {
            let path = entry.path().join(format!("{exporter}.onnx"));
            if path.is_file() {
                let name = format!("{}/{exporter}", entry.file_name().to_string_lossy());
                models.push(Model { name, path });
            }
        }
    }
    models.sort();
    assert!(models.len() >= FEWEST, "{} exported models are there, and there must be {FEWEST}", models.len());
    models
}

/// All models in a full run; otherwise each as one of its exporters wrote it, the exporters by turns.
pub fn by_turns() -> Vec<Model> {
    turns_from(0)
}

/// All models in a full run; otherwise each as the exporter wrote it that [`by_turns`] leaves out, or as its only exporter did.
pub fn by_other_turns() -> Vec<Model> {
    turns_from(1)
}

/// All models in a full run; otherwise every `stride`th of [`by_turns`], from the first one or a later one.
pub fn by_turns_from(first: usize, stride: usize) -> Vec<Model> {
    let stride = if is_full() { 1 } else { stride };
    by_turns().into_iter().skip(if is_full() { 0 } else { first }).step_by(stride).collect()
}

fn turns_from(first: usize) -> Vec<Model> {
    let all = all();
    if is_full() {
        return all;
    }
    let folders: Vec<Vec<Model>> = all.chunk_by(|a, b| a.folder() == b.folder()).map(<[Model]>::to_vec).collect();
    folders.into_iter().zip(first..).map(|(mut models, turn)| models.swap_remove(turn % models.len())).collect()
}

impl Model {
    fn folder(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// The archive of inputs and of the exporter's outputs.
    pub fn arrays(&self) -> PathBuf {
        self.path.with_file_name("io.npz")
    }

    /// The model as a tensor program.
    #[track_caller]
    pub fn program(&self) -> TensorProgram {
        let graph = import(&self.path, &ImportOptions::default());
        lower(&graph.unwrap_or_else(|error| panic!("{}: {error}", self.name)))
    }
}
