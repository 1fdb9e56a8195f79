//! `OptionalGetElement`: what an optional holds.

use std::ops::RangeInclusive;

use crate::ops::{AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The input, which is a tensor; optionals that may hold nothing are not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionalGetElement;

impl Operator for OptionalGetElement {
    const NAME: &'static str = "OptionalGetElement";
    const OPSETS: RangeInclusive<i64> = 15..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

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
