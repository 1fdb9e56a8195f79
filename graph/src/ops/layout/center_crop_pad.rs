//! `CenterCropPad`: dimensions brought to given extents around their middle.

use std::ops::RangeInclusive;

use crate::expr::{ExprBuilder, Index, Literal};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The middle of the data, or the data between zeros, so that the axes have the extents that a constant second input names.
/// Of an odd difference the larger part is behind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CenterCropPad {
    axes: Option<Vec<i64>>,
}

impl CenterCropPad {
    fn extents(&self, context: &Context) -> Result<Vec<usize>, InferError> {
        let data = context.tensor(0)?;
        let rank = data.shape.len();
        let dimensions = match &self.axes {
            Some(axes) => axes::dimensions(axes, rank)?,
            None => (0..rank).collect(),
        };
        let wanted = context.integers(1)?.ok_or(InferError::Missing(1))?;
        let possible = |extent: &i64| (0..1 << 40).contains(extent);
        if wanted.len() != dimensions.len() || !wanted.iter().all(possible) {
            let axes = dimensions.len();
            return Err(InferError::Mismatch(format!("{wanted:?} are no extents of {axes} axes")));
        }
        let mut extents = data.shape.to_vec();
        dimensions.iter().zip(&wanted).for_each(|(&dimension, &extent)| extents[dimension] = extent as usize);
        Ok(extents)
    }
}

impl Operator for CenterCropPad {
    const NAME: &'static str = "CenterCropPad";
    const OPSETS: RangeInclusive<i64> = 18..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axes: attributes.ints("axes")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.axes.clone().map(|axes| ("axes", Attribute::Ints(axes))).into_iter().collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![TensorType::new(context.tensor(0)?.element, self.extents(context)?).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let extents = self.extents(context).expect("inference accepted the extents");
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&extents);
        let places = axes.iter().zip(data.shape.iter().zip(&extents)).map(|(&axis, (&have, &want))| {
            let start = if want <= have { ((have - want) / 2) as i64 } else { -(((want - have) / 2) as i64) };
            Index::axis(axis).plus(start)
        });
        let index = places.collect();
        let operand = expr.operand(data);
        let body = expr.padded_read(operand, index, Literal::new(data.element, 0.0));
        vec![program.compute(expr.map(data.element, body), &[inputs[0].expect("inference found the input")])]
    }
}
