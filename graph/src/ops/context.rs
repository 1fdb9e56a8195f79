//! What is known where an operator is applied.

use crate::tensor::Tensor;
use crate::types::{TensorType, ValueType};

/// What is known of a value: its type and, if it is constant, its elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    pub ty: ValueType,
    /// The elements, where they are known.
    pub value: Option<Tensor>,
}

/// Why an operator does not accept its inputs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InferError {
    /// A required input is absent.
    #[error("input {0} is missing")]
    Missing(usize),
    /// There are too few or too many inputs.
    #[error("{count} inputs are given, {least} to {most} are possible")]
    Inputs {
        /// The number of inputs.
        count: usize,
        least: usize,
        most: usize,
    },
    /// An input that must be known at compile time is not constant.
    #[error("input {0} must be constant")]
    NotConstant(usize),
    /// An input is no tensor.
    #[error("input {0} must be a tensor")]
    NotTensor(usize),
    /// Types or shapes do not fit together.
    #[error("{0}")]
    Mismatch(String),
    /// The case is valid ONNX and not supported here.
    #[error("{0}")]
    Unsupported(String),
}

/// The inputs of an operator, and how many outputs are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    facts: &'a [Option<Fact>],
    outputs: usize,
}

impl<'a> Context<'a> {
    /// The context of a node.
    pub fn new(facts: &'a [Option<Fact>], outputs: usize) -> Self {
        Self { facts, outputs }
    }

    /// The number of outputs that the node names.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The number of inputs, absent ones included.
    pub fn inputs(&self) -> usize {
        self.facts.len()
    }

    /// What is known of an input, if it is present.
    pub fn fact(&self, input: usize) -> Option<&'a Fact> {
        self.facts.get(input)?.as_ref()
    }

    /// The type of a required tensor.
    pub fn tensor(&self, input: usize) -> Result<&'a TensorType, InferError> {
        self.optional(input)?.ok_or(InferError::Missing(input))
    }

    /// The type of an optional tensor.
    pub fn optional(&self, input: usize) -> Result<Option<&'a TensorType>, InferError> {
        match self.fact(input) {
            None => Ok(None),
            Some(fact) => fact.ty.as_tensor().map(Some).ok_or(InferError::NotTensor(input)),
        }
    }

    /// The elements of an optional input, which must be constant.
    pub fn constant(&self, input: usize) -> Result<Option<&'a Tensor>, InferError> {
        match self.fact(input) {
            None => Ok(None),
            Some(fact) => fact.value.as_ref().map(Some).ok_or(InferError::NotConstant(input)),
        }
    }

    /// The integers of an optional input, which must be constant.
    pub fn integers(&self, input: usize) -> Result<Option<Vec<i64>>, InferError> {
        Ok(self.constant(input)?.map(Tensor::to_i64))
    }

    /// The type of a required tensor of inputs that [`super::Operator::infer`] has accepted.
    pub fn accepted(&self, input: usize) -> &'a TensorType {
        self.tensor(input).expect("lowering follows successful inference")
    }
}
