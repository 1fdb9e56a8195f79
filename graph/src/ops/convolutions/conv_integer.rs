//! `ConvInteger`: the convolution of bytes, less their zero points, in 32 bits.

use std::ops::RangeInclusive;

use crate::ops::conv::Conv;
use crate::ops::quantization::{centered_factor, quantized};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// Convolution of integers less their zero points: one of the data, and one of the weight or one an output channel. Padding
/// is the data's zero point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvInteger {
    convolution: Conv,
}

/// The shape with which the zero point of an operand broadcasts to it.
fn placed(context: &Context, input: usize) -> Result<Option<Shape>, InferError> {
    let data = context.tensor(input)?;
    let Some(zero) = context.optional(input + 2)? else { return Ok(None) };
    let alike = zero.element == data.element;
    if alike && zero.shape.checked_elements() == Some(1) {
        return Ok(Some(Shape::scalar()));
    }
    if alike && input == 1 && zero.shape.len() == 1 && data.shape.first() == zero.shape.first() {
        let rest = std::iter::repeat_n(1, data.shape.len() - 1);
        return Ok(Some(zero.shape.iter().copied().chain(rest).collect()));
    }
    Err(InferError::Mismatch(format!("a zero point of {zero} does not go with {data}")))
}

fn wide(context: &Context) -> Result<[Option<Fact>; 2], InferError> {
    let of = |input: usize| -> Result<Option<Fact>, InferError> {
        let ty = context.tensor(input)?;
        quantized(ty.element)?;
        placed(context, input)?;
        let ty = TensorType { element: ElementType::I32, shape: ty.shape.clone() };
        Ok(Some(Fact { ty: ty.into(), value: None }))
    };
    Ok([of(0)?, of(1)?])
}

impl Operator for ConvInteger {
    const NAME: &'static str = "ConvInteger";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { convolution: Conv::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.convolution.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let facts = wide(context)?;
        Ok(vec![self.convolution.convolved(&Context::new(&facts, 1))?.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let facts = wide(context).expect("inference accepted the inputs");
        let operands = [0, 1].map(|input| {
            let shape = placed(context, input).expect("inference accepted the zero point");
            let given = inputs.get(input + 2).copied().flatten().zip(shape);
            let factor = inputs[input].expect("inference found the factors");
            Some(centered_factor(program, factor, given))
        });
        self.convolution.convolve(&Context::new(&facts, 1), &operands, program)
    }
}
