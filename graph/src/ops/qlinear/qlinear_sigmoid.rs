//! `com.microsoft.QLinearSigmoid`: the logistic function of a quantised tensor.

use std::ops::RangeInclusive;

use super::tensor::{Parameters, Quantized};
use crate::ops::microsoft::DOMAIN;
use crate::ops::sigmoid::Sigmoid;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// 1 / (1 + e⁻ˣ) of a tensor, requantised. The inputs are the tensor, its scale and zero point,
/// and the scale and zero point of the output.
#[derive(Clone, PartialEq, Debug)]
pub struct QLinearSigmoid {
    function: Sigmoid,
}

const OPERAND: Quantized = Quantized::at(0);
const RESULT: Parameters = Parameters::at(3);

impl Operator for QLinearSigmoid {
    const NAME: &'static str = "QLinearSigmoid";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 4..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let _ = attributes;
        Ok(Self { function: Sigmoid })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        Operator::attributes(&self.function)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let element = OPERAND.infer(context)?.element;
        RESULT.check(context, element)?;
        let facts = [OPERAND.fact(context)?];
        let types = self.function.infer(&Context::new(&facts, 1))?;
        let shape = types.first().and_then(ValueType::as_tensor).map(|ty| ty.shape.clone()).unwrap_or_default();
        Ok(vec![TensorType { element, shape }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let real = OPERAND.dequantize(program, inputs);
        let result = program.apply(&self.function, &[Some(real)], 1)[0];
        vec![RESULT.quantize(program, inputs, result, context.accepted(0).element)]
    }
}
