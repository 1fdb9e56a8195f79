//! Tensors of which channels are the last dimension, `[N, …, C]`, taken to operators that have them second.

use crate::ops::{Attribute, AttributeError, AttributeReader, InferError, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType};

/// Where the channels of images stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channels {
    /// `[N, C, …]`.
    Second,
    /// `[N, …, C]`.
    Last,
}

impl Channels {
    /// Takes the attribute `channels_last`.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(if attributes.int("channels_last")?.unwrap_or(0) == 0 { Self::Second } else { Self::Last })
    }

    pub fn attribute(self) -> (&'static str, Attribute) {
        ("channels_last", Attribute::Int(i64::from(self == Self::Last)))
    }

    /// The type with channels second, of a tensor that has them here.
    pub fn second(self, ty: &TensorType) -> Result<TensorType, InferError> {
        let rank = ty.shape.len();
        if self == Self::Last && rank < 3 {
            return Err(InferError::Mismatch(format!("{ty} has no spatial dimensions")));
        }
        Ok(permuted(ty, &self.to_second(rank)))
    }

    /// The type with channels here, of a tensor that has them second.
    pub fn back(self, ty: &TensorType) -> TensorType {
        permuted(ty, &self.out_of_second(ty.shape.len()))
    }

    /// Appends the tensor with channels second.
    pub fn move_second(self, program: &mut ProgramBuilder, tensor: TensorId) -> TensorId {
        let rank = program.ty(tensor).shape.len();
        movement::transpose(program, tensor, &self.to_second(rank))
    }

    /// Appends a tensor with channels second with channels here.
    pub fn move_back(self, program: &mut ProgramBuilder, tensor: TensorId) -> TensorId {
        let rank = program.ty(tensor).shape.len();
        movement::transpose(program, tensor, &self.out_of_second(rank))
    }

    fn to_second(self, rank: usize) -> Vec<usize> {
        match self {
            Self::Second => (0..rank).collect(),
            Self::Last => [0, rank - 1].into_iter().chain(1..rank - 1).collect(),
        }
    }

    fn out_of_second(self, rank: usize) -> Vec<usize> {
        match self {
            Self::Second => (0..rank).collect(),
            Self::Last => [0].into_iter().chain(2..rank).chain([1]).collect(),
        }
    }
}

fn permuted(ty: &TensorType, permutation: &[usize]) -> TensorType {
    TensorType { element: ty.element, shape: permutation.iter().map(|&at| ty.shape[at]).collect::<Shape>() }
}
