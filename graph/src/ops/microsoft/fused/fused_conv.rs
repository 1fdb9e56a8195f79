//! `com.microsoft.FusedConv`: a convolution, a sum, and a function of every element.

use std::ops::RangeInclusive;

use super::activation::Activation;
use crate::ops::add::Add;
use crate::ops::conv::Conv;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The activation of the convolution of the first input with the second, plus the optional bias, plus the optional fourth
/// input, which has the output's type.
#[derive(Clone, PartialEq, Debug)]
pub struct FusedConv {
    convolution: Conv,
    activation: Activation,
}

impl Operator for FusedConv {
    const NAME: &'static str = "FusedConv";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = attributes.string("activation")?;
        let parameters = attributes.floats("activation_params")?.unwrap_or_default();
        let activation = Activation::named(name.as_deref(), &parameters)?;
        Ok(Self { convolution: Conv::from_attributes(attributes)?, activation })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.convolution.attributes();
        if let Some((name, parameters)) = self.activation.attributes() {
            attributes.extend([("activation", name), ("activation_params", Attribute::Floats(parameters))]);
        }
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let types = self.convolution.infer(context)?;
        match context.optional(3)? {
            Some(addend) if types.first().and_then(ValueType::as_tensor) != Some(addend) => {
                Err(InferError::Mismatch(format!("{addend} is not the type of the convolution")))
            }
            Some(_) | None => Ok(types),
        }
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let convolved = program.apply(&self.convolution, &inputs[..inputs.len().min(3)], 1)[0];
        let sum = match inputs.get(3).copied().flatten() {
            Some(addend) => program.apply(&Add, &[Some(convolved), Some(addend)], 1)[0],
            None => convolved,
        };
        vec![self.activation.lower(program, sum)]
    }
}
