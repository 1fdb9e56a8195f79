//! Elements that are no indices of the dimensions that they index, in the user's words.

use std::fmt;

use warpweave_graph::index_check::{FaultyElement, FaultyIndex, IndexCheck, IndexFault};
use warpweave_graph::legible::legible;
use warpweave_graph::program::TensorId;
use warpweave_graph::types::TensorType;
use warpweave_plan::plan::MemoryPlan;

/// An element of an input or of another tensor that is no index of a dimension which it indexes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{tensor} holds {value}{}, which is no index from {} to {}; give indices in that range",
    place(coordinates.as_deref()), -extent, extent - 1
)]
pub struct IndexError {
    /// The tensor.
    pub tensor: IndexTensor,
    /// Where in it; `None` for an element with which it is padded.
    pub coordinates: Option<Vec<usize>>,
    /// The value of the element.
    pub value: i64,
    /// The extent of the dimension.
    pub extent: i64,
}

/// A tensor of indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexTensor {
    /// Its id in the program that the session runs.
    pub id: TensorId,
    /// Its position among the inputs, if it is one.
    pub input: Option<usize>,
    /// Its name in the model, where that is known.
    pub name: Option<String>,
}

impl fmt::Display for IndexTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.input, &self.name) {
            (Some(_), Some(name)) => write!(f, "the input `{}`", legible(name)),
            (Some(position), None) => write!(f, "input {position}"),
            (None, Some(name)) => write!(f, "the tensor `{}`", legible(name)),
            (None, None) => write!(f, "the tensor {}", self.id),
        }
    }
}

fn place(coordinates: Option<&[usize]>) -> String {
    match coordinates {
        Some(coordinates) => format!(" at {coordinates:?}"),
        None => " in its padding".to_owned(),
    }
}

impl IndexError {
    /// A fault in a tensor of this type among these inputs.
    pub(crate) fn new(fault: IndexFault, ty: &TensorType, inputs: &[TensorId]) -> Self {
        let IndexFault { check: IndexCheck { tensor, extent }, found: FaultyIndex { element, value } } = fault;
        let input = inputs.iter().position(|input| *input == tensor);
        let coordinates = match element {
            FaultyElement::Padding => None,
            FaultyElement::Element(mut rest) => {
                let coordinate = |stride: usize| {
                    let at = rest / stride.max(1);
                    rest %= stride.max(1);
                    at
                };
                Some(ty.shape.strides().into_iter().map(coordinate).collect())
            }
        };
        Self { tensor: IndexTensor { id: tensor, input, name: None }, coordinates, value, extent }
    }

    /// A fault in a tensor of a plan.
    pub(crate) fn of_plan(fault: IndexFault, memory: &MemoryPlan) -> Self {
        Self::new(fault, &memory.tensors[fault.check.tensor].ty, &memory.inputs)
    }
}

/// Fails with the first fault that a launch has left in the records at `bytes` of an arena.
pub(crate) fn check_records(memory: &MemoryPlan, bytes: &[u8]) -> Result<(), IndexError> {
    memory.index_fault(bytes).map_or(Ok(()), |fault| Err(IndexError::of_plan(fault, memory)))
}
