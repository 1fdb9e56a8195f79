//! `OptionalHasElement`: whether an optional holds anything.

use std::ops::RangeInclusive;

use crate::ops::{AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// Whether there is an input: a tensor, which holds something, or none. Optionals that may hold nothing are not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionalHasElement;

impl Operator for OptionalHasElement {
    const NAME: &'static str = "OptionalHasElement";
    const OPSETS: RangeInclusive<i64> = 15..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 0..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        context.optional(0)?;
        Ok(vec![TensorType::new(ElementType::Bool, []).into()])
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        vec![program.constant(Tensor::from_bools([], &[inputs.iter().flatten().count() > 0]))]
    }
}
