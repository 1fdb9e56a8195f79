//! `Gather`: slices picked by index.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, ExprBuilder, Index};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, indices};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{Shape, TensorType, ValueType};

/// The slices of the first input along an axis that the second names. A negative index counts from the back; one that
/// lies outside is an error, of the model where it is constant, of the run elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gather {
    axis: i64,
}

impl Gather {
    pub fn along(dimension: usize) -> Self {
        Self { axis: dimension as i64 }
    }
}

impl Operator for Gather {
    const NAME: &'static str = "Gather";
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
        if data.shape[axis] == 0 && indices.shape.checked_elements() != Some(0) {
            return Err(InferError::Mismatch("nothing can be picked from an axis of extent 0".to_owned()));
        }
        indices::accept(context, 1, data.shape[axis])?;
        let (before, after) = (&data.shape[..axis], &data.shape[axis + 1..]);
        let shape: Shape = before.iter().chain(indices.shape.iter()).chain(after).copied().collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let (data, indices) = (context.accepted(0), context.accepted(1));
        let axis = axes::dimension(self.axis, data.shape.len()).ok()?;
        let dimension = match input {
            1 => axis + dimension,
            _ if dimension < axis => dimension,
            _ if dimension > axis => dimension + indices.shape.len() - 1,
            // What an index names must not depend on how many elements there are: a negative one counts from the end.
            _ => return None,
        };
        Some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, indices) = (context.accepted(0), context.accepted(1));
        let axis = axes::dimension(self.axis, data.shape.len()).expect("inference accepted the axis");
        let extent = data.shape[axis].max(1) as i64;
        let mut operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let mut expr = ExprBuilder::new();
        let outer = expr.parallels(&data.shape[..axis]);
        let picks = expr.parallels(&indices.shape);
        let inner = expr.parallels(&data.shape[axis + 1..]);
        let source = expr.operand(data);
        let constant = context.fact(1).and_then(|fact| fact.value.as_ref());
        let pick = match constant.and_then(|value| progression(value, extent)) {
            Some((start, step)) => {
                operands.truncate(1);
                let along = picks.last().map_or(Index::constant(0), |&axis| Index::axis(axis));
                along.times(step).plus(start)
            }
            None => {
                let operand = expr.operand(indices);
                let index = expr.read(operand, plain(&picks));
                expr.indirect(&index, data.shape[axis])
            }
        };
        let index = plain(&outer).into_iter().chain([pick]).chain(plain(&inner)).collect();
        let body = expr.read(source, index);
        vec![program.compute(expr.map(data.element, body), &operands)]
    }
}

fn plain(axes: &[AxisId]) -> Vec<Index> {
    axes.iter().map(|&axis| Index::axis(axis)).collect()
}

/// Start and step, if a scalar or vector of indices is an arithmetic progression.
fn progression(indices: &Tensor, extent: i64) -> Option<(i64, i64)> {
    if indices.shape().len() > 1 {
        return None;
    }
    let indices: Vec<i64> = indices.to_i64().into_iter().map(|index| index.rem_euclid(extent)).collect();
    let (&start, second) = (indices.first()?, indices.get(1));
    let step = second.map_or(0, |second| second - start);
    indices.windows(2).all(|pair| pair[1] - pair[0] == step).then_some((start, step))
}
