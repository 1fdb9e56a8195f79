//! `Concat`: tensors end to end.

use std::ops::RangeInclusive;

use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The inputs laid end to end along an axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Concat {
    axis: i64,
}

impl Concat {
    /// Along an axis, as ONNX names it.
    pub(in crate::ops) fn along(axis: i64) -> Self {
        Self { axis }
    }
}

impl Operator for Concat {
    const NAME: &'static str = "Concat";
    const INPUTS: RangeInclusive<usize> = 1..=usize::MAX;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let default = if attributes.opset() < 4 { Some(1) } else { None };
        Ok(Self { axis: attributes.int("axis")?.or(default).ok_or(AttributeError::Missing("axis"))? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let first = context.tensor(0)?;
        let axis = axes::dimension(self.axis, first.shape.len())?;
        let mut extents = first.shape.to_vec();
        for input in 1..context.inputs() {
            let part = context.tensor(input)?;
            let fits = part.shape.len() == extents.len()
                && part.shape.iter().zip(&extents).enumerate().all(|(at, (part, whole))| at == axis || part == whole);
            if part.element != first.element || !fits {
                return Err(InferError::Mismatch(format!("{first} and {part} do not join along axis {axis}")));
            }
            extents[axis] = extents[axis].saturating_add(part.shape[axis]);
        }
        Ok(vec![TensorType::new(first.element, extents).into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let axis = axes::dimension(self.axis, context.accepted(input).shape.len()).ok()?;
        (axis != dimension).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let axis = axes::dimension(self.axis, context.accepted(0).shape.len()).expect("inference accepted the axis");
        let filled = |&part: &TensorId| program.ty(part).shape[axis] > 0;
        let mut parts: Vec<TensorId> = inputs.iter().flatten().copied().filter(filled).collect();
        if parts.is_empty() {
            parts.extend(inputs.iter().flatten().take(1));
        }
        vec![if parts.len() == 1 { parts[0] } else { program.concat(axis, &parts) }]
    }
}
