//! `GroupNormalization`: normalisation of groups of channels.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::normalization::{moments, normalised};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::ops::{elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, ValueType};

/// `(x − mean) / √(variance + epsilon) · scale + bias` with mean and variance over groups of channels of `[N, C, …]`.
/// Scale and bias go by channel, or by group in opsets before 21.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupNormalization {
    epsilon: f32,
    groups: i64,
}

impl Operator for GroupNormalization {
    const NAME: &'static str = "GroupNormalization";
    const OPSETS: RangeInclusive<i64> = 18..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        if attributes.int("stash_type")?.is_some_and(|stash| stash != 1) {
            let reason = "only single precision is supported".to_owned();
            return Err(AttributeError::Value { name: "stash_type", reason });
        }
        let groups = attributes.int("num_groups")?.ok_or(AttributeError::Missing("num_groups"))?;
        Ok(Self { epsilon: attributes.float("epsilon")?.unwrap_or(1e-5), groups })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("epsilon", Attribute::Float(self.epsilon)), ("num_groups", Attribute::Int(self.groups))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        let mismatch = || InferError::Mismatch(format!("{data} has no {} groups with these parameters", self.groups));
        let groups = usize::try_from(self.groups).ok().filter(|&groups| groups > 0).ok_or_else(mismatch)?;
        let channels = data.shape.get(1).copied().filter(|&channels| channels > 0 && channels % groups == 0);
        let channels = channels.ok_or_else(mismatch)?;
        let (scale, bias) = (context.tensor(1)?, context.tensor(2)?);
        let one = *scale.shape == [channels] || *scale.shape == [groups];
        if !one || scale != bias || scale.element != data.element {
            return Err(mismatch());
        }
        Ok(vec![data.clone().into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0).clone();
        let given: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let (groups, channels) = (self.groups as usize, data.shape[1]);
        let rest = channels / groups * data.shape[2..].iter().product::<usize>();
        let grouped = movement::reshape(program, given[0], &Shape::from([data.shape[0], groups, rest]));
        let moments = moments(program, grouped, &[2]);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let channel = Index::axis(axes[1]);
        let group = channel.floor_div((channels / groups) as i64, &|axis| expr.range(axis));
        let by_channel = *context.accepted(1).shape == [channels];
        let mut read = |tensor: TensorId| {
            let ty = program.ty(tensor);
            let operand = expr.operand(ty);
            let parameter = if by_channel { channel.clone() } else { group.clone() };
            let read = match ty.shape.len() {
                1 => expr.read(operand, vec![parameter]),
                _ if tensor == given[0] => expr.broadcast_read(operand, &axes),
                _ => expr.read(operand, vec![Index::axis(axes[0]), group.clone(), Index::constant(0)]),
            };
            read.cast(ty.element, moments.element)
        };
        let (x, mean, variance) = (read(given[0]), read(moments.mean), read(moments.variance));
        let (scale, bias): (Scalar, Scalar) = (read(given[1]), read(given[2]));
        let normal = normalised(x, mean, variance, moments.element, self.epsilon);
        let body = normal.binary(BinaryOp::Multiply, scale).binary(BinaryOp::Add, bias);
        let all = [given[0], moments.mean, moments.variance, given[1], given[2]];
        vec![program.compute(expr.map(data.element, body.cast(moments.element, data.element)), &all)]
    }
}
