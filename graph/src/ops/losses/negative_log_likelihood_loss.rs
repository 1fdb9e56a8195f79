//! `NegativeLogLikelihoodLoss`: the loss of logarithms of probabilities.

use std::ops::RangeInclusive;

use crate::ops::likelihood::Likelihood;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The negative logarithm that each element has for its class, weighted; all of them, their sum or their mean.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NegativeLogLikelihoodLoss {
    likelihood: Likelihood,
}

impl Operator for NegativeLogLikelihoodLoss {
    const NAME: &'static str = "NegativeLogLikelihoodLoss";
    const OPSETS: RangeInclusive<i64> = 12..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { likelihood: Likelihood::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.likelihood.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![self.likelihood.infer(context)?.into()])
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let [logarithms, classes] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        vec![self.likelihood.lower(program, logarithms, classes, inputs.get(2).copied().flatten())]
    }
}
