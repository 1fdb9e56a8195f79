//! `MatMulInteger`: the matrix product of bytes, less their zero points, in 32 bits.

use std::ops::RangeInclusive;

use crate::ops::matmul::MatMul;
use crate::ops::quantization::{centered_factor, quantized};
use crate::ops::{AttributeError, AttributeReader, Context, Fact, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// NumPy's matrix product of integers less their zero points, of which there is one, or one a row of the left operand and one a
/// column of the right one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatMulInteger;

/// The shape with which the zero point of an operand broadcasts to it.
fn placed(context: &Context, input: usize) -> Result<Option<Shape>, InferError> {
    let data = context.tensor(input)?;
    let Some(zero) = context.optional(input + 2)? else { return Ok(None) };
    let mismatch = || InferError::Mismatch(format!("a zero point of {zero} does not go with {data}"));
    if zero.element != data.element {
        return Err(mismatch());
    }
    if zero.shape.checked_elements() == Some(1) {
        return Ok(Some(Shape::scalar()));
    }
    let rank = data.shape.len();
    let (dimension, shape) = match input {
        0 => (rank.checked_sub(2), [zero.shape[0], 1]),
        _ => (rank.checked_sub(1), [1, zero.shape[0]]),
    };
    let fits = zero.shape.len() == 1 && dimension.is_some_and(|at| data.shape[at] == zero.shape[0]);
    if fits { Ok(Some(shape.into())) } else { Err(mismatch()) }
}

impl Operator for MatMulInteger {
    const NAME: &'static str = "MatMulInteger";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=4;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let wide = |input: usize| -> Result<Option<Fact>, InferError> {
            let ty = context.tensor(input)?;
            quantized(ty.element)?;
            placed(context, input)?;
            let ty = TensorType { element: ElementType::I32, shape: ty.shape.clone() };
            Ok(Some(Fact { ty: ty.into(), value: None }))
        };
        MatMul.infer(&Context::new(&[wide(0)?, wide(1)?], 1))
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let wide = [0, 1].map(|input| {
            let shape = placed(context, input).expect("inference accepted the zero point");
            let given = inputs.get(input + 2).copied().flatten().zip(shape);
            let factor = inputs[input].expect("inference found the factors");
            Some(centered_factor(program, factor, given))
        });
        program.apply(&MatMul, &wide, 1)
    }
}
