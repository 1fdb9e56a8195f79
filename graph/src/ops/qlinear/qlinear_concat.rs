//! `com.microsoft.QLinearConcat`: quantised tensors end to end.

use std::ops::RangeInclusive;

use super::tensor::{Parameters, Quantized};
use crate::ops::concat::Concat;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// Tensors laid end to end along an axis, requantised. The inputs are the scale and zero point of the output, and the tensors,
/// each before its scale and zero point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QLinearConcat {
    function: Concat,
}

const RESULT: Parameters = Parameters::at(0);

fn parts(count: usize) -> Result<Vec<Quantized>, InferError> {
    match count.checked_sub(2) {
        Some(rest) if rest > 0 && rest.is_multiple_of(3) => {
            Ok((0..rest / 3).map(|at| Quantized::at(2 + 3 * at)).collect())
        }
        _ => Err(InferError::Mismatch("the inputs are not a tensor, a scale and a zero point each".to_owned())),
    }
}

impl Operator for QLinearConcat {
    const NAME: &'static str = "QLinearConcat";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 5..=usize::MAX;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let axis = attributes.int("axis")?.ok_or(AttributeError::Missing("axis"))?;
        Ok(Self { function: Concat::along(axis) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.function.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let parts = parts(context.inputs())?;
        let element = parts[0].infer(context)?.element;
        RESULT.check(context, element)?;
        for part in &parts {
            let found = part.infer(context)?.element;
            if found != element {
                return Err(InferError::Mismatch(format!("element types {element} and {found} differ")));
            }
        }
        let facts = parts.iter().map(|part| part.fact(context)).collect::<Result<Vec<_>, _>>()?;
        let types = self.function.infer(&Context::new(&facts, 1))?;
        let shape = types.first().and_then(ValueType::as_tensor).map(|ty| ty.shape.clone()).unwrap_or_default();
        Ok(vec![TensorType { element, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let part = input.checked_sub(2).filter(|at| at.is_multiple_of(3))? / 3;
        let facts: Vec<Option<Fact>> =
            parts(context.inputs()).ok()?.iter().map(|part| part.fact(context).ok()?).collect();
        self.function.follows(&Context::new(&facts, 1), part, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = self.output(context).element;
        let parts = parts(context.inputs()).expect("inference accepted the inputs");
        let again = |part: Quantized| {
            let real = part.dequantize(program, inputs);
            Some(RESULT.quantize(program, inputs, real, element))
        };
        let parts: Vec<Option<TensorId>> = parts.into_iter().map(again).collect();
        program.apply(&self.function, &parts, 1)
    }
}
