//! Why a model is refused.

use std::fmt;
use std::path::PathBuf;

use warpweave_graph::legible::{escaped, legible};

use crate::weights::WeightError;

/// Why a model is refused. Every kind has a stable code and a remedy; the text names culprit and reason.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The model exceeds a limit.
    #[error("{}: {what} exceeds the limit of {limit}", legible(culprit))]
    Limit {
        /// What is too large.
        culprit: String,
        /// The quantity.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The bytes are no ONNX model.
    #[error("not an ONNX model: {0}")]
    Decode(#[from] prost::DecodeError),
    /// The model contradicts itself.
    #[error("{}: {}", legible(culprit), escaped(reason))]
    Invalid {
        /// The node or value.
        culprit: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A constant cannot be read.
    #[error("tensor `{}`: {error}", legible(tensor))]
    Weight {
        /// The tensor.
        tensor: String,
        /// What is wrong with it.
        error: WeightError,
    },
    /// Inputs have dimensions that nobody chose.
    #[error("the shapes of {} inputs are not known:{}", .0.len(), lines(.0))]
    Shapes(Vec<MissingShape>),
    /// A batch is chosen for a model whose first dimensions are all decided.
    #[error("batch {batch} cannot be chosen: the model fixes its shapes, no first dimension is open ({})", escaped(&.inputs.join(", ")))]
    Batch {
        /// The batch.
        batch: usize,
        /// The inputs with their types.
        inputs: Vec<String>,
    },
    /// Nodes are not supported; all of them are listed.
    #[error("{} nodes are not supported:{}", .0.len(), lines(.0))]
    Unsupported(Vec<UnsupportedNode>),
}

/// An input with dimensions that nobody chose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingShape {
    /// The input.
    pub input: String,
    /// Its dimensions as the model has them: extents, names, or `?`; `None` if even the rank is unknown.
    pub dimensions: Option<Vec<String>>,
}

/// A node that is not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsupportedNode {
    /// The node's name, or that of its first output.
    pub node: String,
    /// The operator's domain; empty for the default one.
    pub domain: String,
    /// The operator.
    pub operator: String,
    /// The version of the operator set.
    pub opset: i64,
    /// Why it is not supported.
    pub reason: String,
}

impl ImportError {
    /// A short name of the kind of error that stays the same across versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "model-file",
            Self::Limit { .. } => "model-limit",
            Self::Decode(_) => "model-decode",
            Self::Invalid { .. } => "model-invalid",
            Self::Weight { .. } => "model-weight",
            Self::Shapes(_) => "model-shapes",
            Self::Batch { .. } => "model-batch",
            Self::Unsupported(_) => "model-unsupported",
        }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::File { .. } => "check the path and its permissions",
            Self::Limit { .. } => "export a smaller model, or raise the limit if the model is trusted",
            Self::Decode(_) => "check that the file is complete and an ONNX model",
            Self::Invalid { .. } => "check the model with the ONNX checker and export it again",
            Self::Weight { .. } => "keep external data in the model's folder, without links, and export again",
            Self::Shapes(_) => "name the shapes with --shape NAME=AxBxC, or the batch with --batch N",
            Self::Batch { .. } => {
                "leave --batch out, or export the model with an open first dimension or for that batch"
            }
            Self::Unsupported(_) => "replace these nodes, or export with another opset",
        }
    }

    pub(super) fn invalid(culprit: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { culprit: culprit.into(), reason: reason.into() }
    }
}

impl fmt::Display for MissingShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dimensions {
            Some(dimensions) => write!(f, "{} [{}]", legible(&self.input), escaped(&dimensions.join("x"))),
            None => write!(f, "{} of unknown rank", legible(&self.input)),
        }
    }
}

impl fmt::Display for UnsupportedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, domain, operator, opset, reason } = self;
        let domain = if domain.is_empty() { "ai.onnx" } else { domain };
        let (node, operator) = (legible(node), legible(operator));
        write!(f, "{node}: {}.{operator} (opset {opset}): {}", legible(domain), escaped(reason))
    }
}

fn lines<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}
