//! `Split`: parts along an axis.

use std::ops::RangeInclusive;

use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The input cut along an axis, into parts of the given extents or as equal as can be. The extents are an attribute
/// before opset 13 and an input from then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    axis: i64,
    split: Option<Vec<i64>>,
    parts: Option<i64>,
}

impl Split {
    /// The dimension that is cut and the extents of the parts.
    fn extents(&self, context: &Context) -> Result<(usize, Vec<usize>), InferError> {
        let data = context.tensor(0)?;
        let axis = axes::dimension(self.axis, data.shape.len())?;
        let extent = data.shape[axis];
        let extents: Option<Vec<usize>> = match axes::given(self.split.as_deref(), context, 1)? {
            Some(split) => split.iter().map(|&part| usize::try_from(part).ok()).collect(),
            None => {
                let parts = context.outputs().max(1);
                let part = extent.div_ceil(parts);
                Some((0..parts).map(|at| extent.saturating_sub(at * part).min(part)).collect())
            }
        };
        let fits = |extents: &Vec<usize>| {
            let total = extents.iter().try_fold(0usize, |total, part| total.checked_add(*part));
            let named = self.parts.is_none_or(|parts| usize::try_from(parts) == Ok(extents.len()));
            total == Some(extent) && extents.len() >= context.outputs() && named
        };
        let mismatch = || InferError::Mismatch(format!("extent {extent} does not split as asked"));
        Ok((axis, extents.filter(fits).ok_or_else(mismatch)?))
    }
}

impl Operator for Split {
    const NAME: &'static str = "Split";
    const INPUTS: RangeInclusive<usize> = 1..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let (axis, split) = (attributes.int("axis")?.unwrap_or(0), attributes.ints("split")?);
        Ok(Self { axis, split, parts: attributes.int("num_outputs")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let split = self.split.clone().map(|split| ("split", Attribute::Ints(split)));
        let parts = self.parts.map(|parts| ("num_outputs", Attribute::Int(parts)));
        [("axis", Attribute::Int(self.axis))].into_iter().chain(split).chain(parts).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (axis, extents) = self.extents(context)?;
        let data = context.tensor(0)?;
        let part = |extent: usize| {
            let extents = data.shape.iter().enumerate().map(|(at, &old)| if at == axis { extent } else { old });
            TensorType { element: data.element, shape: extents.collect() }.into()
        };
        Ok(extents.into_iter().map(part).collect())
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let (axis, _) = self.extents(context).ok()?;
        (input == 0 && axis != dimension).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (axis, parts) = self.extents(context).expect("inference accepted the parts");
        let data = inputs[0].expect("inference found the input");
        let rank = context.accepted(0).shape.len();
        let (mut starts, steps) = (vec![0; rank], vec![1; rank]);
        let mut extents = context.accepted(0).shape.to_vec();
        let part = |part: usize| {
            extents[axis] = part;
            let output = movement::slice(program, data, &starts, &steps, &extents);
            starts[axis] += part as i64;
            output
        };
        parts.into_iter().map(part).collect()
    }
}
