//! Why a model is refused.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use warpweave_graph::legible::{Culprit, counted, escaped, file_remedy, legible, listed};

use crate::obstacle::Obstacle;
use crate::weights::WeightError;

/// Why a model is refused. Every kind has a stable code and a remedy; the text names culprit and reason.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The model exceeds a limit.
    #[error("{}: {what} exceeds the limit of {limit}", legible(culprit))]
    Limit {
        /// What is too large.
        culprit: String,
        what: &'static str,
        limit: u64,
    },
    /// The bytes are no ONNX model.
    #[error("{} is no ONNX model: {error}", escaped(culprit))]
    Decode {
        /// The file, or what stands for it.
        culprit: String,
        /// What is wrong with the bytes.
        error: prost::DecodeError,
    },
    /// The bytes are no ONNX tensor.
    #[error("it is no ONNX tensor: {0}")]
    Tensor(prost::DecodeError),
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
        tensor: String,
        /// What is wrong with it.
        error: WeightError,
    },
    /// A choice names what the model does not have.
    #[error(
        "the model has no input or dimension `{name}`: its inputs are {}, its named dimensions {}",
        names(.inputs), names(.dimensions)
    )]
    UnknownName {
        name: String,
        inputs: Vec<String>,
        /// The dimensions that have names.
        dimensions: Vec<String>,
    },
    /// A chosen extent contradicts the model or another choice.
    #[error("{culprit} cannot be chosen so: {reason}")]
    Choice {
        /// The input or dimension.
        culprit: String,
        reason: String,
    },
    /// An input cannot be fixed to what is given.
    #[error("the input {input} cannot be fixed so: {reason}")]
    Constant {
        /// The input as the model declares it.
        input: String,
        /// Why not.
        reason: String,
    },
    /// Inputs have dimensions without a chosen extent.
    #[error("the {} not known:{}", of_all("shape", .0.len(), "input"), listed(.0, MissingShape::culprit))]
    Shapes(Vec<MissingShape>),
    /// A batch is chosen for a model whose first dimensions are all decided.
    #[error("batch {batch} cannot be chosen: the model fixes its shapes, no first dimension is open ({})", escaped(&.inputs.join(", ")))]
    Batch {
        batch: usize,
        /// The inputs with their types.
        inputs: Vec<String>,
    },
    /// Types or nodes are not supported; all of them are listed.
    #[error("{0}")]
    Unsupported(Unsupported),
}

/// What of a model is not supported.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unsupported {
    /// Inputs and constants whose types are not supported.
    pub tensors: Vec<UnsupportedTensor>,
    /// Nodes that are not supported for reasons of their own.
    pub nodes: Vec<UnsupportedNode>,
}

/// An input or a constant whose type is not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsupportedTensor {
    /// Where it stands.
    pub place: TensorPlace,
    pub name: String,
    /// Why it is not supported, after its name.
    pub reason: String,
    /// What stands in the way.
    pub obstacle: Obstacle,
}

/// Where a tensor of a model stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorPlace {
    /// Among the inputs.
    Input,
    /// Among the initializers.
    Constant,
    /// Among the outputs.
    Output,
}

/// An input with dimensions that have no chosen extent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingShape {
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
    pub operator: String,
    /// The version of the operator set.
    pub opset: i64,
    /// Why it is not supported.
    pub reason: String,
    /// What stands in the way.
    pub obstacle: Obstacle,
}

impl ImportError {
    /// A short name of the kind of error that stays the same across versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "model-file",
            Self::Limit { .. } => "model-limit",
            Self::Decode { .. } => "model-decode",
            Self::Tensor(_) => "tensor-decode",
            Self::Invalid { .. } => "model-invalid",
            Self::Weight { .. } => "model-weight",
            Self::UnknownName { .. } => "model-name",
            Self::Choice { .. } => "model-choice",
            Self::Constant { .. } => "model-constant",
            Self::Shapes(_) => "model-shapes",
            Self::Batch { .. } => "model-batch",
            Self::Unsupported(_) => "model-unsupported",
        }
    }

    /// What a person can do about it.
    pub fn remedy(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::File { error, .. } => file_remedy(error),
            Self::Limit { .. } => "export a smaller model, or raise the limit if the model is trusted",
            Self::Decode { .. } => "check that the file is complete and an ONNX model",
            Self::Tensor(_) => "check that the file is complete and a serialised TensorProto",
            Self::Invalid { .. } => "check the model with the ONNX checker and export it again",
            Self::Weight { error, .. } => return Cow::Owned(error.remedy()),
            Self::UnknownName { .. } => "name one of these",
            Self::Constant { .. } => "give --constant NAME=VALUE a value of the type and shape that the model declares",
            Self::Choice { .. } => "choose extents that the model leaves open, each once",
            Self::Shapes(missing) => return Cow::Owned(shapes_remedy(missing)),
            Self::Batch { .. } => {
                "leave --batch out, or export the model with an open first dimension or for that batch"
            }
            Self::Unsupported(unsupported) => return Cow::Owned(unsupported.remedy()),
        })
    }

    pub(super) fn choice(culprit: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Choice { culprit: culprit.into(), reason: reason.into() }
    }

    pub(super) fn invalid(culprit: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid { culprit: culprit.into(), reason: reason.into() }
    }
}

impl MissingShape {
    fn shape(&self) -> String {
        match &self.dimensions {
            Some(dimensions) => format!("[{}]", escaped(&dimensions.join(", "))),
            None => "of unknown rank".to_owned(),
        }
    }

    fn culprit(&self) -> Culprit<'_> {
        Culprit { noun: "input", name: &self.input, reason: self.shape() }
    }
}

impl fmt::Display for MissingShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", legible(&self.input), self.shape())
    }
}

impl Unsupported {
    /// What a person can do about each thing that stands in the way, each once.
    fn remedy(&self) -> String {
        let tensors = self.tensors.iter().map(|tensor| tensor.obstacle);
        let obstacles: BTreeSet<Obstacle> = tensors.chain(self.nodes.iter().map(|node| node.obstacle)).collect();
        obstacles.into_iter().map(Obstacle::remedy).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tensors, nodes } = self;
        if !tensors.is_empty() {
            let list = listed(tensors, UnsupportedTensor::culprit);
            write!(f, "the {} not supported:{list}", of_all("type", tensors.len(), "tensor"))?;
        }
        let list = listed(nodes, UnsupportedNode::culprit);
        let all = are(nodes.len(), "node");
        match (tensors.is_empty(), nodes.is_empty()) {
            (_, true) => Ok(()),
            (true, false) => write!(f, "{all} not supported:{list}"),
            (false, false) => write!(f, "\n{all} not supported either:{list}"),
        }
    }
}

/// `1 node is` or `2 nodes are`.
fn are(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "is" } else { "are" })
}

/// `shape of 1 input is` or `shapes of 2 inputs are`.
fn of_all(property: &str, count: usize, noun: &str) -> String {
    format!("{property}{} of {}", if count == 1 { "" } else { "s" }, are(count, noun))
}

impl UnsupportedTensor {
    fn culprit(&self) -> Culprit<'_> {
        Culprit { noun: self.place.noun(), name: &self.name, reason: self.reason.clone() }
    }
}

impl fmt::Display for UnsupportedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.place, legible(&self.name), self.reason)
    }
}

impl TensorPlace {
    fn noun(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Constant => "constant",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for TensorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.noun())
    }
}

impl UnsupportedNode {
    /// The operator and why it is not supported.
    fn cause(&self) -> String {
        let Self { domain, operator, opset, reason, .. } = self;
        let domain = if domain.is_empty() { "ai.onnx" } else { domain };
        format!("{}.{} (opset {opset}): {}", legible(domain), legible(operator), escaped(reason))
    }

    fn culprit(&self) -> Culprit<'_> {
        Culprit { noun: "node", name: &self.node, reason: self.cause() }
    }
}

impl fmt::Display for UnsupportedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", legible(&self.node), self.cause())
    }
}

/// How to give shapes, with what stands for an open extent shown as 1.
fn shapes_remedy(missing: &[MissingShape]) -> String {
    let mut options: Vec<String> = Vec::new();
    for MissingShape { input, dimensions } in missing {
        let Some(dimensions) = dimensions else {
            options.push(format!("--shape {input}=AxB"));
            continue;
        };
        let open: Vec<&String> = dimensions.iter().filter(|text| text.parse::<usize>().is_err()).collect();
        let mut given: Vec<String> = open.iter().map(|name| format!("--shape {name}=1")).collect();
        if open.is_empty() || open.iter().any(|name| *name == "?") {
            let extents = dimensions.iter().map(|text| text.parse().unwrap_or(1usize));
            let extents: Vec<String> = extents.map(|extent| extent.to_string()).collect();
            given = vec![format!("--shape {input}={}", extents.join("x"))];
        }
        let new: Vec<String> = given.into_iter().filter(|option| !options.contains(option)).collect();
        options.extend(new);
    }
    format!(
        "choose them, such as with {}; --batch N is for all open first dimensions, and arrays that are given decide too",
        options.join(" ")
    )
}

fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
