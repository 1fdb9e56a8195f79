//! `SoftmaxCrossEntropyLoss`: the loss of scores.

use std::ops::RangeInclusive;

use crate::ops::likelihood::Likelihood;
use crate::ops::log_softmax::LogSoftmax;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The negative log likelihood loss of the scores' log softmax over dimension 1, which is the second output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SoftmaxCrossEntropyLoss {
    likelihood: Likelihood,
}

impl Operator for SoftmaxCrossEntropyLoss {
    const NAME: &'static str = "SoftmaxCrossEntropyLoss";
    const OPSETS: RangeInclusive<i64> = 12..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { likelihood: Likelihood::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.likelihood.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![self.likelihood.infer(context)?.into(), context.tensor(0)?.clone().into()])
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let classes = inputs[1].expect("inference found the inputs");
        let logarithms = program.apply(&LogSoftmax::along(1), &inputs[..1], 1)[0];
        let loss = self.likelihood.lower(program, logarithms, classes, inputs.get(2).copied().flatten());
        vec![loss, logarithms]
    }
}
