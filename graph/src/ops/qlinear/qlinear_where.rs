//! `com.microsoft.QLinearWhere`: elements of one of two quantised tensors.

use std::ops::RangeInclusive;

use crate::ops::microsoft::DOMAIN;
use crate::ops::qlinear::tensor::{Parameters, Quantized};
use crate::ops::where_::Where;
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// Where a condition holds elements of x, else those of y, requantised. The inputs are the condition, x, y and the output's
/// parameters, each of the tensors before its scale and zero point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QLinearWhere;

const CHOICES: [Quantized; 2] = [Quantized::at(1), Quantized::at(4)];
const RESULT: Parameters = Parameters::at(7);

impl Operator for QLinearWhere {
    const NAME: &'static str = "QLinearWhere";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 9..=9;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let element = CHOICES[0].infer(context)?.element;
        CHOICES[1].infer(context)?;
        RESULT.check(context, element)?;
        let facts = [context.fact(0).cloned(), CHOICES[0].fact(context)?, CHOICES[1].fact(context)?];
        let types = Where.infer(&Context::new(&facts, 1))?;
        let chosen = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        Ok(vec![TensorType { element, shape: chosen.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let [x, y] = CHOICES.map(|choice| Some(choice.dequantize(program, inputs)));
        let result = program.apply(&Where, &[inputs[0], x, y], 1)[0];
        vec![RESULT.quantize(program, inputs, result, context.accepted(1).element)]
    }
}
