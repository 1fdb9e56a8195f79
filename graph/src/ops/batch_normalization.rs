//! `BatchNormalization`: normalisation by known statistics.

use std::ops::RangeInclusive;

use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// `(x − mean) / √(variance + epsilon) · scale + bias` per channel of `[N, C, …]`, as inference uses it; training is not
/// supported. The inputs are x, scale, bias, mean and variance.
#[derive(Clone, PartialEq, Debug)]
pub struct BatchNormalization {
    /// Added to the variance.
    pub epsilon: f32,
}

impl Operator for BatchNormalization {
    const NAME: &'static str = "BatchNormalization";
    const INPUTS: RangeInclusive<usize> = 5..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        attributes.float("momentum")?;
        if attributes.flag("training_mode")? == Some(true) {
            let reason = "training is not supported".to_owned();
            return Err(AttributeError::Value { name: "training_mode", reason });
        }
        // Before opset 7 training is the default; exporters of that time say that they do not want it.
        if attributes.opset() < 7 && attributes.flag("is_test")? != Some(true) {
            let reason = "training is not supported: 1 is needed".to_owned();
            return Err(AttributeError::Value { name: "is_test", reason });
        }
        if attributes.flag("spatial")? == Some(false) {
            let reason = "statistics per element are not supported".to_owned();
            return Err(AttributeError::Value { name: "spatial", reason });
        }
        Ok(Self { epsilon: attributes.float("epsilon")?.unwrap_or(1e-5) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("epsilon", Attribute::Float(self.epsilon))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        if context.outputs() > 1 {
            return Err(InferError::Unsupported("statistics as outputs belong to training".to_owned()));
        }
        let channels = data.shape.get(1).copied();
        for input in 1..5 {
            let parameter = context.tensor(input)?;
            if channels.is_none_or(|channels| *parameter.shape != [channels]) || !parameter.element.is_float() {
                return Err(InferError::Mismatch(format!("{parameter} does not go with the channels of {data}")));
            }
        }
        Ok(vec![data.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&context.accepted(0).shape);
        let data = expr.operand(context.accepted(0));
        let x = expr.broadcast_read(data, &axes);
        let mut parameter = |input: usize| {
            let ty = context.accepted(input);
            let operand = expr.operand(ty);
            expr.read(operand, vec![Index::axis(axes[1])]).cast(ty.element, element)
        };
        let (scale, bias, mean, variance) = (parameter(1), parameter(2), parameter(3), parameter(4));
        let shifted = variance.binary(BinaryOp::Add, Scalar::literal(element, f64::from(self.epsilon)));
        let centred = x.binary(BinaryOp::Subtract, mean);
        let factor = scale.binary(BinaryOp::Divide, shifted.unary(UnaryOp::Sqrt));
        let body = centred.binary(BinaryOp::Multiply, factor).binary(BinaryOp::Add, bias);
        let operands: Vec<TensorId> = inputs.iter().take(5).flatten().copied().collect();
        vec![program.compute(expr.map(element, body), &operands)]
    }
}
