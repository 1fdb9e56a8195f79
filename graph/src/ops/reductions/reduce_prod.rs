//! `ReduceProd`: the product along axes.

use std::ops::RangeInclusive;

use crate::expr::Reducer;
use crate::ops::reduction::Reduction;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The product along axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReduceProd {
    reduction: Reduction,
}

impl Operator for ReduceProd {
    const NAME: &'static str = "ReduceProd";
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
        vec![self.reduction.reduce(context, data, program, Reducer::Product, |_| None)]
    }
}
