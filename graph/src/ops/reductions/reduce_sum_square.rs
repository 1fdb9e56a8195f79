//! `ReduceSumSquare`: the sum of squares along axes.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Reducer, Scalar};
use crate::ops::reduction::Reduction;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The sum of squares along axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReduceSumSquare {
    reduction: Reduction,
}

impl Operator for ReduceSumSquare {
    const NAME: &'static str = "ReduceSumSquare";
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
        let body = |x: Scalar| x.clone().binary(BinaryOp::Multiply, x);
        let epilogue = None;
        vec![self.reduction.reduce_of(context, data, program, Reducer::Sum, body, epilogue)]
    }
}
