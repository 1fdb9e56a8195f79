//! `RandomUniform`: a tensor of evenly distributed numbers.

use std::ops::RangeInclusive;

use crate::ops::random::{self, Distribution, Source};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// A tensor of evenly distributed numbers, of a shape and with a seed.
#[derive(Clone, PartialEq, Debug)]
pub struct RandomUniform {
    source: Source,
    distribution: Distribution,
    element: Option<ElementType>,
    shape: Vec<i64>,
}

impl Operator for RandomUniform {
    const NAME: &'static str = "RandomUniform";
    const INPUTS: RangeInclusive<usize> = 0..=0;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self {
            source: Source::from_attributes(attributes)?,
            distribution: Distribution::uniform(attributes)?,
            element: random::dtype(attributes)?,
            shape: attributes.ints("shape")?.ok_or(AttributeError::Missing("shape"))?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let own = [self.source.attribute(), ("shape", Attribute::Ints(self.shape.clone()))];
        own.into_iter().chain(self.distribution.attributes()).chain(random::dtype_attribute(self.element)).collect()
    }

    fn infer(&self, _: &Context) -> Result<Vec<ValueType>, InferError> {
        let element = elementwise::floating(self.element.unwrap_or(ElementType::F32))?;
        let extents: Option<Vec<usize>> = self.shape.iter().map(|&extent| usize::try_from(extent).ok()).collect();
        let extents = extents.ok_or_else(|| InferError::Mismatch(format!("{:?} is no shape", self.shape)))?;
        Ok(vec![random::countable(TensorType::new(element, extents))?.into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        vec![self.source.tensor(program, &self.output(context), self.distribution)]
    }
}
