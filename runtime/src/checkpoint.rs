//! Named tensors in a file as safetensors, with the model that they belong to.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use safetensors::tensor::{SafeTensorError, SafeTensors, TensorView, serialize};
use warpweave_graph::legible::file_remedy;
use warpweave_graph::{Tensor, TensorType};

use crate::bundle::{dtype, element};
use crate::new_file;

/// The key of the steps and the model's hash among the metadata; one, for several would stand in any order.
pub const TRAINING: &str = "warpweave.training";

/// What training has made of a model so far.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Checkpoint {
    /// BLAKE3 of the model file, in hexadecimal digits; empty if there was none.
    pub model: String,
    /// How many steps were taken.
    pub steps: u64,
    /// The tensors by name.
    pub tensors: BTreeMap<String, Tensor>,
}

/// A file of named tensors that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system refuses.
    #[error("cannot {action} {}: {source}; {}", path.display(), file_remedy(source))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It is no file of tensors, or a damaged one.
    #[error("{} holds no tensors: {reason}; write it with `train --save` or as safetensors", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Checkpoint {
    /// The first tensor, by name, that has a value that is infinite or no number.
    pub fn first_not_finite(&self) -> Option<&str> {
        let is_finite =
            |tensor: &Tensor| !tensor.element().is_float() || tensor.to_f64().iter().all(|value| value.is_finite());
        self.tensors.iter().find(|(_, tensor)| !is_finite(tensor)).map(|(name, _)| name.as_str())
    }

    /// Reads a file. One that `train` did not write has no model and no steps.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let format = |reason: String| CheckpointError::Format { path: path.to_owned(), reason };
        let bytes =
            fs::read(path).map_err(|source| CheckpointError::File { action: "read", path: path.to_owned(), source })?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| format(error.to_string()))?;
        let parsed = SafeTensors::deserialize(&bytes).map_err(|error| format(error.to_string()))?;
        let mut checkpoint = Self::default();
        let training = metadata.metadata().as_ref().and_then(|metadata| metadata.get(TRAINING));
        if let Some((steps, model)) = training.and_then(|training| training.split_once(' ')) {
            checkpoint.steps = steps.parse().unwrap_or(0);
            checkpoint.model = model.to_owned();
        }
        for (name, view) in parsed.iter() {
            let unknown =
                || format(format!("`{name}` has elements of type {:?}, which are not supported", view.dtype()));
            let ty = TensorType::new(element(view.dtype()).ok_or_else(unknown)?, view.shape().to_vec());
            let tensor = Tensor::from_bytes(ty, view.data().to_vec().into());
            let tensor = tensor.ok_or_else(|| format(format!("`{name}` is not as long as its shape says")))?;
            checkpoint.tensors.insert(name.to_owned(), tensor);
        }
        Ok(checkpoint)
    }

    /// Writes a file that is seen whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), CheckpointError> {
        let format = |reason: String| CheckpointError::Format { path: path.to_owned(), reason };
        let views = self.tensors.iter().map(|(name, tensor)| Ok((name.clone(), view(tensor)?)));
        let views = views.collect::<Result<Vec<_>, SafeTensorError>>().map_err(|error| format(error.to_string()))?;
        let metadata = HashMap::from([(TRAINING.to_owned(), format!("{} {}", self.steps, self.model))]);
        let bytes = serialize(views, Some(metadata)).map_err(|error| format(error.to_string()))?;
        new_file::write(path, &bytes).map_err(|source| CheckpointError::File {
            action: "write",
            path: path.to_owned(),
            source,
        })
    }
}

fn view(tensor: &Tensor) -> Result<TensorView<'_>, SafeTensorError> {
    TensorView::new(dtype(tensor.element()), tensor.shape().to_vec(), tensor.bytes())
}
