//! `RandomNormalLike`: normally distributed numbers in the shape of another tensor.

use std::ops::RangeInclusive;

use crate::ops::random::{self, Distribution, Source};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// A tensor of normally distributed numbers with a seed, in the shape of the input.
#[derive(Clone, PartialEq, Debug)]
pub struct RandomNormalLike {
    source: Source,
    distribution: Distribution,
    element: Option<ElementType>,
}

impl Operator for RandomNormalLike {
    const NAME: &'static str = "RandomNormalLike";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self {
            source: Source::from_attributes(attributes)?,
            distribution: Distribution::normal(attributes)?,
            element: random::dtype(attributes)?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let own = [self.source.attribute()];
        own.into_iter().chain(self.distribution.attributes()).chain(random::dtype_attribute(self.element)).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![random::like(context, self.element)?.into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        vec![self.source.tensor(program, &self.output(context), self.distribution)]
    }
}
