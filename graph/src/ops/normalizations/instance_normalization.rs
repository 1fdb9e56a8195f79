//! `InstanceNormalization`: normalisation of every channel of every example.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::normalization::{moments, normalised};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// `(x − mean) / √(variance + epsilon) · scale + bias` with mean and variance over the spatial dimensions of `[N, C, …]`,
/// and scale and bias per channel.
#[derive(Clone, PartialEq, Debug)]
pub struct InstanceNormalization {
    epsilon: f32,
}

impl Operator for InstanceNormalization {
    const NAME: &'static str = "InstanceNormalization";
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { epsilon: attributes.float("epsilon")?.unwrap_or(1e-5) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("epsilon", Attribute::Float(self.epsilon))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        let (scale, bias) = (context.tensor(1)?, context.tensor(2)?);
        let channels = data.shape.get(1).copied().filter(|_| data.shape.len() > 2);
        for parameter in [scale, bias] {
            if channels.is_none_or(|channels| *parameter.shape != [channels]) || parameter.element != data.element {
                return Err(InferError::Mismatch(format!("{parameter} does not go with the channels of {data}")));
            }
        }
        Ok(vec![data.clone().into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0).clone();
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let spatial: Vec<usize> = (2..data.shape.len()).collect();
        let moments = moments(program, operands[0], &spatial);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let mut read = |tensor: TensorId| {
            let ty = program.ty(tensor);
            let operand = expr.operand(ty);
            let read = match ty.shape.len() {
                1 => expr.read(operand, vec![Index::axis(axes[1])]),
                _ => expr.broadcast_read(operand, &axes),
            };
            read.cast(ty.element, moments.element)
        };
        let (x, mean, variance) = (read(operands[0]), read(moments.mean), read(moments.variance));
        let (scale, bias): (Scalar, Scalar) = (read(operands[1]), read(operands[2]));
        let normal = normalised(x, mean, variance, moments.element, self.epsilon);
        let body = normal.binary(BinaryOp::Multiply, scale).binary(BinaryOp::Add, bias);
        let body = body.cast(moments.element, data.element);
        let all = [operands[0], moments.mean, moments.variance, operands[1], operands[2]];
        vec![program.compute(expr.map(data.element, body), &all)]
    }
}
