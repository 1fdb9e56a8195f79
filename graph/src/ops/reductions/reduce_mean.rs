//! `ReduceMean`: the mean along axes.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Reducer, Scalar};
use crate::ops::reduction::Reduction;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The mean along axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReduceMean {
    reduction: Reduction,
}

impl Operator for ReduceMean {
    const NAME: &'static str = "ReduceMean";
    const INPUTS: RangeInclusive<usize> = 1..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { reduction: Reduction::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.reduction.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        elementwise::number(context.tensor(0)?.element)?;
        Ok(vec![self.reduction.infer(context)?.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        self.reduction.follows(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let element = context.accepted(0).element;
        // The mean of nothing is 0.
        let divisor = |count: usize| Scalar::literal(element, count.max(1) as f64);
        let mean = |count: usize| Some(Scalar::Reduced.binary(BinaryOp::Divide, divisor(count)));
        vec![self.reduction.reduce(context, data, program, Reducer::Sum, mean)]
    }
}
