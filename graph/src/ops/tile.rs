//! `Tile`: repetition.

use std::ops::RangeInclusive;

use super::{AttributeError, AttributeReader, Context, InferError, Operator, movement};
use crate::expr::{AxisId, Index, Range};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The first input repeated along each dimension as often as the second says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile;

impl Operator for Tile {
    const NAME: &'static str = "Tile";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let repeats = context.integers(1)?.ok_or(InferError::Missing(1))?;
        let mismatch = || InferError::Mismatch(format!("{data} cannot be repeated {repeats:?} times"));
        if repeats.len() != data.shape.len() {
            return Err(mismatch());
        }
        let extent = |(&extent, &times): (&usize, &i64)| extent.checked_mul(usize::try_from(times).ok()?);
        let shape = data.shape.iter().zip(&repeats).map(extent).collect::<Option<_>>().ok_or_else(mismatch)?;
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, output) = (inputs[0].expect("inference found the input"), self.output(context));
        let from = &context.accepted(0).shape;
        if *from == output.shape {
            return vec![data];
        }
        let index = |axes: &[AxisId]| {
            let place = axes.iter().zip(from.iter().zip(output.shape.iter()));
            let index = |(&axis, (&from, &to)): (&AxisId, (&usize, &usize))| {
                let ranges = |_| Range { minimum: 0, maximum: (to as i64 - 1).max(0) };
                Index::axis(axis).modulo(from.max(1) as i64, &ranges)
            };
            place.map(index).collect()
        };
        vec![movement::rearrange(program, data, &output.shape, index)]
    }
}
