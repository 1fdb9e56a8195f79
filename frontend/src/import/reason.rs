//! Why a node is not supported, in words and by what stands in the way.

use warpweave_graph::ops::{AttributeError, ImportError as OperatorError, InferError};

use crate::attributes::UnreadableAttribute;
use crate::obstacle::Obstacle;

/// Why a node is not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reason {
    /// What the message says.
    pub(crate) text: String,
    /// What helps.
    pub(crate) obstacle: Obstacle,
}

impl Reason {
    pub(crate) fn new(obstacle: Obstacle, text: impl Into<String>) -> Self {
        Self { text: text.into(), obstacle }
    }

    /// Why a node's name, opset or attributes make no operator.
    pub(crate) fn of_operator(domain: &str, error: &OperatorError) -> Self {
        let obstacle = match error {
            OperatorError::Unknown(name) => Obstacle::of_unknown(domain, name),
            OperatorError::Opset { .. } => Obstacle::Opset,
            OperatorError::Attribute(error) => of_attribute(error),
        };
        Self::new(obstacle, error.to_string())
    }

    /// Why inference refuses a node, in the message's words.
    pub(crate) fn of_inference(error: &InferError, text: String) -> Self {
        let obstacle = match error {
            InferError::Missing(_) | InferError::Inputs { .. } | InferError::Mismatch(_) => Obstacle::Contradiction,
            InferError::NotConstant(_) => Obstacle::NotConstant,
            InferError::NotTensor(_) => Obstacle::NotTensor,
            InferError::Unsupported(_) => Obstacle::Form,
        };
        Self::new(obstacle, text)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self { text, obstacle: Obstacle::Undecided }
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.text
    }
}

impl From<AttributeError> for Reason {
    fn from(error: AttributeError) -> Self {
        Self::new(of_attribute(&error), error.to_string())
    }
}

impl From<UnreadableAttribute> for Reason {
    fn from(error: UnreadableAttribute) -> Self {
        let obstacle = match &error {
            UnreadableAttribute::Kind { .. } => Obstacle::Attribute,
            UnreadableAttribute::Text(_) => Obstacle::Contradiction,
            UnreadableAttribute::Tensor { error, .. } => error.obstacle(),
        };
        Self::new(obstacle, error.to_string())
    }
}

fn of_attribute(error: &AttributeError) -> Obstacle {
    match error {
        AttributeError::Missing(_) | AttributeError::Kind(_) => Obstacle::Contradiction,
        AttributeError::Value { name, .. } if name.contains("string") => Obstacle::Strings,
        AttributeError::Unknown(name) if name.contains("string") => Obstacle::Strings,
        AttributeError::Value { .. } | AttributeError::Unknown(_) => Obstacle::Attribute,
    }
}
