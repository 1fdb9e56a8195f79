//! `Tile`: repetition.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, Index, Range};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The first input repeated along each dimension as often as the second says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile {
    /// Whether the second input is one number, of any type, and the third names the only dimension that is repeated.
    along_axis: bool,
}

impl Tile {
    /// How often each of so many dimensions is repeated.
    fn repeats(&self, context: &Context, rank: usize) -> Result<Vec<i64>, InferError> {
        let given = context.integers(1)?.ok_or(InferError::Missing(1))?;
        if !self.along_axis {
            return Ok(given);
        }
        let axis = context.integers(2)?.ok_or(InferError::Missing(2))?;
        let ([times], [axis]) = (&given[..], &axis[..]) else {
            return Err(InferError::Mismatch(
                "the repetitions along an axis, or the axis, are not one number".to_owned(),
            ));
        };
        let mut repeats = vec![1; rank];
        repeats[axes::dimension(*axis, rank)?] = *times;
        Ok(repeats)
    }
}

impl Operator for Tile {
    const NAME: &'static str = "Tile";
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        // From opset 6 on all dimensions are repeated; texts of graphs keep the older form as an attribute of its own.
        let old = attributes.opset() < 6;
        Ok(Self { along_axis: old || attributes.flag("along_axis")?.unwrap_or(false) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        if self.along_axis { vec![("along_axis", Attribute::Int(1))] } else { Vec::new() }
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let repeats = self.repeats(context, data.shape.len())?;
        if !self.along_axis && context.fact(2).is_some() {
            return Err(InferError::Mismatch("an axis is an input before opset 6 only".to_owned()));
        }
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
