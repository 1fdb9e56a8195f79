//! `com.microsoft.QLinearMul`: the product of quantised tensors.

use std::ops::RangeInclusive;

use super::integer::requantize;
use super::tensor::{Parameters, Quantized};
use crate::expr::{BinaryOp, Scalar};
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, broadcast, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The product of two tensors, broadcast, requantised. The inputs are the operands, each before its scale and zero point, and the
/// scale and zero point of the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QLinearMul;

const OPERANDS: [Quantized; 2] = [Quantized::at(0), Quantized::at(3)];
const RESULT: Parameters = Parameters::at(6);

impl Operator for QLinearMul {
    const NAME: &'static str = "QLinearMul";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 7..=8;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let [left, right] = OPERANDS.map(|operand| operand.infer(context));
        let (left, right) = (left?, right?);
        if left.element != right.element {
            return Err(InferError::Mismatch(format!("element types {} and {} differ", left.element, right.element)));
        }
        RESULT.check(context, left.element)?;
        let shape = broadcast::shapes(&left.shape, &right.shape)?;
        Ok(vec![TensorType { element: left.element, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        Quantized::broadcast(context, &OPERANDS, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let [left, right] = OPERANDS.map(|operand| Some(operand.center(program, inputs)));
        let product = broadcast::map(&[left, right], program, ElementType::I32, |operands| {
            let [left, right]: [Scalar; 2] = elementwise::operands(operands);
            left.binary(BinaryOp::Multiply, right)
        });
        let scale = |input: usize| (inputs[input].expect("inference found the scale"), Shape::scalar());
        let zero = inputs.get(7).copied().flatten();
        vec![requantize(program, product, [scale(1), scale(4), scale(6)], (element, zero))]
    }
}
