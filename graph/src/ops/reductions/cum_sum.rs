//! `CumSum`: sums of all elements up to each one.

use std::ops::RangeInclusive;

use crate::expr::Reducer;
use crate::ops::prefix::Prefix;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The sum of the elements along an axis, a constant second input, up to each element or from each on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CumSum {
    prefix: Prefix,
}

impl CumSum {
    /// The sums up to each element, itself included.
    pub fn plain() -> Self {
        Self { prefix: Prefix::PLAIN }
    }
}

impl Operator for CumSum {
    const NAME: &'static str = "CumSum";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { prefix: Prefix::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.prefix.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Prefix::dimension(context)?;
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        self.prefix.follows(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        vec![self.prefix.lower(context, inputs, program, Reducer::Sum)]
    }
}
