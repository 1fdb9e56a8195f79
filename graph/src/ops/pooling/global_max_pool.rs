//! `GlobalMaxPool`: the largest element of every channel.

use std::ops::RangeInclusive;

use crate::expr::Reducer;
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, elementwise, reduction};
use crate::program::Ties;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// The largest element of every channel of `[N, C, …]`, over all spatial dimensions, which become 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalMaxPool;

impl Operator for GlobalMaxPool {
    const NAME: &'static str = "GlobalMaxPool";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        if data.shape.len() < 3 {
            return Err(InferError::Mismatch(format!("{data} has no spatial dimensions")));
        }
        let extents = data.shape.iter().enumerate().map(|(at, &extent)| if at < 2 { extent } else { 1 });
        Ok(vec![TensorType { element: data.element, shape: extents.collect::<Shape>() }.into()])
    }

    fn follows(&self, _: &Context, _: usize, dimension: usize) -> Option<usize> {
        (dimension < 2).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let spatial: Vec<usize> = (2..context.accepted(0).shape.len()).collect();
        let output = self.output(context);
        let pooled = program.with_ties(Ties::First, |program| {
            reduction::along(program, data, &spatial, &output.shape, Reducer::Maximum, |_| None)
        });
        vec![pooled]
    }
}
