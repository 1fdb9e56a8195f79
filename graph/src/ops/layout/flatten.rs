//! `Flatten`: a matrix of the same elements.

use std::ops::RangeInclusive;

use crate::ops::{ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The same elements as a matrix: the dimensions before the axis make its rows, the others its columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flatten {
    axis: i64,
}

impl Operator for Flatten {
    const NAME: &'static str = "Flatten";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axis: attributes.int("axis")?.unwrap_or(1) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let rank = data.shape.len() as i64;
        if !(-rank..=rank).contains(&self.axis) {
            return Err(InferError::Mismatch(format!("axis {} lies outside rank {rank}", self.axis)));
        }
        let axis = if self.axis < 0 { self.axis + rank } else { self.axis } as usize;
        let rows = data.shape[..axis].iter().product::<usize>();
        let columns = data.shape[axis..].iter().product::<usize>();
        Ok(vec![TensorType::new(data.element, [rows, columns]).into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let moved = movement::kept_dimension(&context.accepted(0).shape, &self.output(context).shape, dimension)?;
        (input == 0).then_some(moved)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        vec![movement::reshape(program, data, &self.output(context).shape)]
    }
}
