//! `DequantizeLinear`: integers of a scale as numbers.

use std::ops::RangeInclusive;

use crate::expr::BinaryOp;
use crate::ops::quantization::{
    Granularity, centered, centered_type, output_attribute, output_type, parameter, placed, quantized_or_stored,
};
use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, broadcast,
    elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The first input less the zero point, times the scale: of one scale, of one a place of an axis, or of one a
/// block of places. The output has the
/// scale's type, unless an attribute says another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DequantizeLinear {
    granularity: Granularity,
    /// The type of the output, where it is not the scale's.
    output: Option<ElementType>,
}

impl DequantizeLinear {
    /// Of one scale and zero point.
    pub(in crate::ops) fn of_one_scale() -> Self {
        Self { granularity: Granularity::NONE, output: None }
    }
}

impl Operator for DequantizeLinear {
    const NAME: &'static str = "DequantizeLinear";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=3;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let granularity = Granularity::from_attributes(attributes)?;
        Ok(Self { granularity, output: output_type(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.granularity.attributes().into_iter().chain(output_attribute(self.output)).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, scale) = (context.tensor(0)?, context.tensor(1)?);
        if data.element != ElementType::I32 {
            quantized_or_stored(data.element)?;
        }
        if scale.element != ElementType::F8E8M0 {
            elementwise::floating(scale.element)?;
        }
        placed(scale, &data.shape, self.granularity)?;
        if let Some(zero) = context.optional(2)? {
            placed(zero, &data.shape, self.granularity)?;
            if zero.element != data.element {
                return Err(InferError::Mismatch(format!("a zero point of {zero} does not go with {data}")));
            }
        }
        let element = elementwise::floating(self.output.unwrap_or(scale.element))?;
        Ok(vec![TensorType { element, shape: data.shape.clone() }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (from, scaled_by) = (context.accepted(0).element, context.accepted(1).element);
        let to = self.output.unwrap_or(scaled_by);
        let [scale, zero] = [1, 2].map(|input| parameter(context, inputs, program, (input, self.granularity)));
        let operands: Vec<Option<TensorId>> = [inputs[0], scale].into_iter().chain(zero.map(Some)).collect();
        vec![broadcast::map(&operands, program, to, |operands| {
            let mut operands = operands.into_iter();
            let mut next = || operands.next();
            let (value, scale) = next().zip(next()).expect("value and scale are operands");
            centered(from, value, next())
                .cast(centered_type(from), to)
                .binary(BinaryOp::Multiply, scale.cast(scaled_by, to))
        })]
    }
}
