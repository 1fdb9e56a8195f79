//! `com.microsoft.ExpandDims`: a dimension of extent 1 inserted.

use std::ops::RangeInclusive;

use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, axes, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The first input with a dimension of extent 1 at the axis that the second names, a constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpandDims;

impl Operator for ExpandDims {
    const NAME: &'static str = "ExpandDims";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let at = match context.integers(1)?.as_deref() {
            Some(&[axis]) => axes::dimension(axis, data.shape.len() + 1)?,
            Some(_) => return Err(InferError::Mismatch("the axis is not one number".to_owned())),
            None => return Err(InferError::Missing(1)),
        };
        let (before, behind) = data.shape.split_at(at);
        let shape = before.iter().chain(&[1]).chain(behind).copied().collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        vec![movement::reshape(program, data, &self.output(context).shape)]
    }
}
