//! `Transpose`: dimensions in another order.

use std::ops::RangeInclusive;

use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The input with its dimensions permuted, reversed if no permutation is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transpose {
    permutation: Option<Vec<i64>>,
}

impl Transpose {
    /// Moves dimension `permutation[d]` to place `d`.
    pub fn new(permutation: &[usize]) -> Self {
        Self { permutation: Some(permutation.iter().map(|&dimension| dimension as i64).collect()) }
    }

    /// The dimension that goes to each place of an output of this rank.
    pub fn permutation(&self, rank: usize) -> Result<Vec<usize>, InferError> {
        let Some(permutation) = &self.permutation else {
            return Ok((0..rank).rev().collect());
        };
        if permutation.len() != rank {
            return Err(InferError::Mismatch(format!("{permutation:?} does not permute {rank} dimensions")));
        }
        axes::dimensions(permutation, rank)
    }
}

impl Operator for Transpose {
    const NAME: &'static str = "Transpose";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { permutation: attributes.ints("perm")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.permutation.clone().map(|permutation| ("perm", Attribute::Ints(permutation))).into_iter().collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let permutation = self.permutation(data.shape.len())?;
        let shape = permutation.iter().map(|&dimension| data.shape[dimension]).collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn follows(&self, context: &Context, _: usize, dimension: usize) -> Option<usize> {
        let permutation = self.permutation(context.accepted(0).shape.len()).ok()?;
        permutation.iter().position(|&from| from == dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let rank = context.accepted(0).shape.len();
        let permutation = self.permutation(rank).expect("inference accepted the permutation");
        vec![movement::transpose(program, inputs[0].expect("inference found the input"), &permutation)]
    }
}
