//! `Expand`: broadcast to a shape.

use std::ops::RangeInclusive;

use crate::expr::ExprBuilder;
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// The first input broadcast together with the shape that the second holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expand;

impl Operator for Expand {
    const NAME: &'static str = "Expand";
    const OPSETS: RangeInclusive<i64> = 8..=crate::ops::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let extents = context.integers(1)?.ok_or(InferError::Missing(1))?;
        let target = extents.iter().map(|&extent| usize::try_from(extent)).collect::<Result<Shape, _>>();
        let target = target.map_err(|_| InferError::Mismatch("an extent is negative".to_owned()))?;
        Ok(vec![TensorType { element: data.element, shape: broadcast::shapes(&data.shape, &target)? }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let moved = dimension + self.output(context).shape.len() - context.accepted(0).shape.len();
        (input == 0).then_some(moved)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, output) = (inputs[0].expect("inference found the input"), self.output(context));
        if *context.accepted(0) == output {
            return vec![data];
        }
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let operand = expr.operand(context.accepted(0));
        let body = expr.broadcast_read(operand, &axes);
        vec![program.compute(expr.map(output.element, body), &[data])]
    }
}
