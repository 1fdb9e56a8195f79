//! `com.microsoft.QLinearReduceMean`: the mean of a quantised tensor along axes.

use std::ops::RangeInclusive;

use crate::ops::microsoft::DOMAIN;
use crate::ops::qlinear::tensor::{Parameters, Quantized};
use crate::ops::reduce_mean::ReduceMean;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The mean along axes, requantised. The inputs are the tensor, its scale and zero point, and the scale and zero point of the
/// output.
#[derive(Clone, PartialEq, Debug)]
pub struct QLinearReduceMean {
    function: ReduceMean,
}

const OPERAND: Quantized = Quantized::at(0);
const RESULT: Parameters = Parameters::at(3);

impl Operator for QLinearReduceMean {
    const NAME: &'static str = "QLinearReduceMean";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 4..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { function: ReduceMean::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.function.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let element = OPERAND.infer(context)?.element;
        RESULT.check(context, element)?;
        let facts = [OPERAND.fact(context)?];
        let types = self.function.infer(&Context::new(&facts, 1))?;
        let reduced = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        Ok(vec![TensorType { element, shape: reduced.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let real = OPERAND.dequantize(program, inputs);
        let result = program.apply(&self.function, &[Some(real)], 1)[0];
        vec![RESULT.quantize(program, inputs, result, context.accepted(0).element)]
    }
}
