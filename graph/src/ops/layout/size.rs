//! `Size`: the number of elements.

use std::ops::RangeInclusive;

use crate::ops::{ALL_STORAGE, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The number of elements of the input, as a 64-bit integer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Size;

impl Operator for Size {
    const NAME: &'static str = "Size";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        context.tensor(0)?;
        Ok(vec![TensorType { element: ElementType::I64, shape: Shape::scalar() }.into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let elements = context.accepted(0).shape.elements();
        vec![program.constant(Tensor::scalar(elements as i64))]
    }
}
