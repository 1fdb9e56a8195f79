//! `Softmax`: exponentials that sum to 1.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::exponential::Normalizer;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The exponentials of the elements, divided by their sum over the axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Softmax {
    normalizer: Normalizer,
}

impl Softmax {
    /// Over one dimension.
    pub fn along(dimension: usize) -> Self {
        Self { normalizer: Normalizer::along(dimension) }
    }
}

impl Operator for Softmax {
    const NAME: &'static str = "Softmax";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { normalizer: Normalizer::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.normalizer.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![self.normalizer.infer(context)?.into()])
    }

    fn follows(&self, context: &Context, _: usize, dimension: usize) -> Option<usize> {
        self.normalizer.follows(context, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let result = |distance: Scalar, total: Scalar| distance.unary(UnaryOp::Exp).binary(BinaryOp::Divide, total);
        vec![self.normalizer.lower(context, data, program, result)]
    }
}
