//! `com.microsoft.QLinearGlobalAveragePool`: the mean of every channel of a quantised tensor.

use std::ops::RangeInclusive;

use super::tensor::{Parameters, Quantized};
use crate::ops::channels_last::Channels;
use crate::ops::global_average_pool::GlobalAveragePool;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The mean of every channel, requantised. The inputs are the tensor, its scale and zero point,
/// and the scale and zero point of the output.
#[derive(Clone, PartialEq, Debug)]
pub struct QLinearGlobalAveragePool {
    channels: Channels,
    function: GlobalAveragePool,
}

const OPERAND: Quantized = Quantized::at(0);
const RESULT: Parameters = Parameters::at(3);

impl Operator for QLinearGlobalAveragePool {
    const NAME: &'static str = "QLinearGlobalAveragePool";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 4..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { channels: Channels::from_attributes(attributes)?, function: GlobalAveragePool })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![self.channels.attribute()]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let element = OPERAND.infer(context)?.element;
        RESULT.check(context, element)?;
        let real = TensorType { element: ElementType::F32, shape: context.tensor(0)?.shape.clone() };
        let facts = [Some(Fact { ty: self.channels.second(&real)?.into(), value: None })];
        let types = self.function.infer(&Context::new(&facts, 1))?;
        let pooled = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        Ok(vec![TensorType { element, shape: self.channels.back(pooled).shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let real = OPERAND.dequantize(program, inputs);
        let real = self.channels.move_second(program, real);
        let result = program.apply(&self.function, &[Some(real)], 1)[0];
        let result = self.channels.move_back(program, result);
        vec![RESULT.quantize(program, inputs, result, context.accepted(0).element)]
    }
}
