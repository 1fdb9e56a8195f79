//! `QuantizeLinear`: numbers as integers of a scale.

use std::ops::RangeInclusive;

use crate::ops::conversion::Conversion;
use crate::ops::quantization::{
    Granularity, output_attribute, output_type, parameter, placed, quantized_or_stored, quantized_value,
};
use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, broadcast,
    elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The first input divided by the scale, rounded to even, plus the zero point, saturated. Floating point of 8 bits and
/// fewer is rounded last. There is one scale, one a place of an axis, or one a block of places. The output has the zero
/// point's type, unsigned bytes without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuantizeLinear {
    granularity: Granularity,
    /// The type of the output, where no zero point says it.
    output: Option<ElementType>,
    conversion: Conversion,
}

impl Operator for QuantizeLinear {
    const NAME: &'static str = "QuantizeLinear";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=3;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let conversion = Conversion::saturation(attributes)?;
        let granularity = Granularity::from_attributes(attributes)?;
        if attributes.int("precision")?.unwrap_or(0) != 0 {
            return Err(AttributeError::Value { name: "precision", reason: "only 0 is supported".to_owned() });
        }
        Ok(Self { granularity, output: output_type(attributes)?, conversion })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let output = output_attribute(self.output);
        self.granularity.attributes().into_iter().chain(output).chain(self.conversion.attributes()).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, scale) = (context.tensor(0)?, context.tensor(1)?);
        elementwise::floating(data.element)?;
        if scale.element != data.element && scale.element != ElementType::F8E8M0 {
            return Err(InferError::Mismatch(format!("a scale of {scale} does not go with {data}")));
        }
        placed(scale, &data.shape, self.granularity)?;
        let element = match context.optional(2)? {
            Some(zero) => {
                placed(zero, &data.shape, self.granularity)?;
                if self.output.is_some_and(|output| output != zero.element) {
                    return Err(InferError::Mismatch(format!(
                        "a zero point of {zero} does not have the output's type"
                    )));
                }
                quantized_or_stored(zero.element)?
            }
            None => quantized_or_stored(self.output.unwrap_or(ElementType::U8))?,
        };
        Ok(vec![TensorType { element, shape: data.shape.clone() }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (from, to) = (context.accepted(0).element, self.output(context).element);
        let scaled_by = context.accepted(1).element;
        let [scale, zero] = [1, 2].map(|input| parameter(context, inputs, program, (input, self.granularity)));
        let operands: Vec<Option<TensorId>> = [inputs[0], scale].into_iter().chain(zero.map(Some)).collect();
        vec![broadcast::map(&operands, program, to, |operands| {
            let mut operands = operands.into_iter();
            let mut next = || operands.next();
            let (value, scale) = next().zip(next()).expect("value and scale are operands");
            quantized_value((from, to, self.conversion), value, scale.cast(scaled_by, from), next())
        })]
    }
}
