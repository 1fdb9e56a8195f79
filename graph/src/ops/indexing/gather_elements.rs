//! `GatherElements`: elements picked by index along one axis.

use std::ops::RangeInclusive;

use crate::expr::{ExprBuilder, Index};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, indices};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// For every element of the second input, the element of the first at the same place, except along an axis, where the
/// second gives the index. A negative one counts from the back; one that lies outside is an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatherElements {
    axis: i64,
}

impl Operator for GatherElements {
    const NAME: &'static str = "GatherElements";
    const OPSETS: RangeInclusive<i64> = 11..=crate::ops::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axis: attributes.int("axis")?.unwrap_or(0) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, indices) = (context.tensor(0)?, context.tensor(1)?);
        let axis = axes::dimension(self.axis, data.shape.len())?;
        let mut pairs = data.shape.iter().zip(indices.shape.iter()).enumerate();
        let fits = |(at, (&data, &index)): (usize, (&usize, &usize))| {
            index == 0 || if at == axis { data > 0 } else { index <= data }
        };
        let same_rank = data.shape.len() == indices.shape.len();
        if !same_rank || !pairs.all(fits) {
            return Err(InferError::Mismatch(format!("{indices} does not index {data} along axis {axis}")));
        }
        indices::accept(context, 1, data.shape[axis])?;
        Ok(vec![TensorType { element: data.element, shape: indices.shape.clone() }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let axis = axes::dimension(self.axis, context.accepted(0).shape.len()).ok()?;
        (input == 1 || dimension != axis).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, indices) = (context.accepted(0), context.accepted(1));
        let axis = axes::dimension(self.axis, data.shape.len()).expect("inference accepted the axis");
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&indices.shape);
        let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let source = expr.operand(data);
        let operand = expr.operand(indices);
        let pick = expr.read(operand, index.clone());
        index[axis] = expr.indirect(&pick, data.shape[axis]);
        let body = expr.read(source, index);
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        vec![program.compute(expr.map(data.element, body), &operands)]
    }
}
