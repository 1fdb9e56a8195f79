//! `Identity`: the input.

use std::ops::RangeInclusive;

use crate::ops::{ALL_STORAGE, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// The input, unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity;

impl Operator for Identity {
    const NAME: &'static str = "Identity";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn follows(&self, _: &Context, _: usize, dimension: usize) -> Option<usize> {
        Some(dimension)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], _: &mut ProgramBuilder) -> Vec<TensorId> {
        inputs.iter().flatten().copied().collect()
    }
}
