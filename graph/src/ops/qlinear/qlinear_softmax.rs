//! `com.microsoft.QLinearSoftmax`: exponentials that sum to 1, quantised.

use std::ops::RangeInclusive;

use super::tensor::{Parameters, Quantized};
use crate::ops::microsoft::DOMAIN;
use crate::ops::softmax::Softmax;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The exponentials of the elements, divided by their sum over the axis, or over all dimensions from the axis on where attribute `opset`
/// is below 13; requantised. The inputs are the tensor, its scale and zero point,
/// and the scale and zero point of the output.
#[derive(Clone, PartialEq, Debug)]
pub struct QLinearSoftmax {
    function: Softmax,
}

const OPERAND: Quantized = Quantized::at(0);
const RESULT: Parameters = Parameters::at(3);

impl Operator for QLinearSoftmax {
    const NAME: &'static str = "QLinearSoftmax";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 4..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let opset = attributes.int("opset")?.ok_or(AttributeError::Missing("opset"))?;
        let axis = attributes.int("axis")?.map(|axis| ("axis".to_owned(), Attribute::Int(axis)));
        let onward = attributes.int("onward")?.map(|onward| ("onward".to_owned(), Attribute::Int(onward)));
        let mut inner = AttributeReader::new(axis.into_iter().chain(onward), opset);
        Ok(Self { function: Softmax::from_attributes(&mut inner)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        [("opset", Attribute::Int(13))].into_iter().chain(self.function.attributes()).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let element = OPERAND.infer(context)?.element;
        RESULT.check(context, element)?;
        let facts = [OPERAND.fact(context)?];
        let types = self.function.infer(&Context::new(&facts, 1))?;
        let shape = types.first().and_then(ValueType::as_tensor).map(|ty| ty.shape.clone()).unwrap_or_default();
        Ok(vec![TensorType { element, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let facts = [OPERAND.fact(context).ok()?];
        self.function.follows(&Context::new(&facts, 1), input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let real = OPERAND.dequantize(program, inputs);
        let result = program.apply(&self.function, &[Some(real)], 1)[0];
        vec![RESULT.quantize(program, inputs, result, context.accepted(0).element)]
    }
}
