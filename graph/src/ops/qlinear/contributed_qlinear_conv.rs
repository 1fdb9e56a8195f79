//! `com.microsoft.QLinearConv`: the convolution of quantised tensors, of which channels may be last.

use std::ops::RangeInclusive;

use crate::ops::channels_last::Channels;
use crate::ops::microsoft::DOMAIN;
use crate::ops::qlinear_conv::QLinearConv;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// As [`QLinearConv`]; data and output may have their channels last, the weight has them second.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContributedQLinearConv {
    channels: Channels,
    function: QLinearConv,
}

impl Operator for ContributedQLinearConv {
    const NAME: &'static str = "QLinearConv";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = QLinearConv::INPUTS;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let channels = Channels::from_attributes(attributes)?;
        Ok(Self { channels, function: QLinearConv::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.function.attributes().into_iter().chain([self.channels.attribute()]).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let ty = self.channels.second(context.tensor(0)?)?;
        let first = Some(Fact { ty: ty.into(), value: None });
        let others = (1..context.inputs()).map(|input| context.fact(input).cloned());
        let facts: Vec<Option<Fact>> = [first].into_iter().chain(others).collect();
        let types = self.function.infer(&Context::new(&facts, 1))?;
        let convolved = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        Ok(vec![self.channels.back(convolved).into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let mut operands = inputs.to_vec();
        operands[0] = operands[0].map(|data| self.channels.move_second(program, data));
        let convolved = program.apply(&self.function, &operands, 1)[0];
        vec![self.channels.move_back(program, convolved)]
    }
}
