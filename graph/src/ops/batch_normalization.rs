//! `BatchNormalization`: normalisation by known statistics.

use std::ops::RangeInclusive;

use super::normalization::moments;
use super::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise, movement,
};
use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// `(x − mean) / √(variance + epsilon) · scale + bias` per channel of `[N, C, …]`. The inputs are x, scale, bias, mean and
/// variance. In training mean and variance are those of x, and the inputs' are blended with them to be the other outputs.
#[derive(Clone, PartialEq, Debug)]
pub struct BatchNormalization {
    /// Added to the variance.
    pub epsilon: f32,
    /// How much of mean and variance stays in training, if it is that.
    pub momentum: Option<f32>,
}

impl Operator for BatchNormalization {
    const NAME: &'static str = "BatchNormalization";
    const INPUTS: RangeInclusive<usize> = 5..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let momentum = attributes.float("momentum")?.unwrap_or(0.9);
        let is_training = attributes.flag("training_mode")?.unwrap_or(false);
        // Before opset 7 training is the default; exporters of that time say that they do not want it.
        if attributes.opset() < 7 && attributes.flag("is_test")? != Some(true) {
            let reason = "training is not supported: 1 is needed".to_owned();
            return Err(AttributeError::Value { name: "is_test", reason });
        }
        if attributes.flag("spatial")? == Some(false) {
            let reason = "statistics per element are not supported".to_owned();
            return Err(AttributeError::Value { name: "spatial", reason });
        }
        Ok(Self { epsilon: attributes.float("epsilon")?.unwrap_or(1e-5), momentum: is_training.then_some(momentum) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let epsilon = ("epsilon", Attribute::Float(self.epsilon));
        let training = self
            .momentum
            .map(|momentum| [("momentum", Attribute::Float(momentum)), ("training_mode", Attribute::Int(1))]);
        [epsilon].into_iter().chain(training.into_iter().flatten()).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        if context.outputs() > 1 && self.momentum.is_none() {
            return Err(InferError::Unsupported("statistics as outputs belong to training".to_owned()));
        }
        let channels = data.shape.get(1).copied();
        for input in 1..5 {
            let parameter = context.tensor(input)?;
            if channels.is_none_or(|channels| *parameter.shape != [channels]) || !parameter.element.is_float() {
                return Err(InferError::Mismatch(format!("{parameter} does not go with the channels of {data}")));
            }
        }
        let statistics = [context.tensor(3)?, context.tensor(4)?].map(Clone::clone);
        let all = [data.clone()].into_iter().chain(statistics);
        Ok(all.take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        if let Some(momentum) = self.momentum {
            return self.train(momentum, context, inputs, program);
        }
        vec![self.normalise(context, inputs, program)]
    }
}

impl BatchNormalization {
    /// Appends x normalised by the statistics of these inputs.
    fn normalise(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> TensorId {
        let element = context.accepted(0).element;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&context.accepted(0).shape);
        let data = expr.operand(context.accepted(0));
        let x = expr.broadcast_read(data, &axes);
        let mut parameter = |input: usize| {
            let ty = program.ty(inputs[input].expect("inference found the inputs"));
            let operand = expr.operand(ty);
            expr.read(operand, vec![Index::axis(axes[1])]).cast(ty.element, element)
        };
        let (scale, bias, mean, variance) = (parameter(1), parameter(2), parameter(3), parameter(4));
        let shifted = variance.binary(BinaryOp::Add, Scalar::literal(element, f64::from(self.epsilon)));
        let centred = x.binary(BinaryOp::Subtract, mean);
        let factor = scale.binary(BinaryOp::Divide, shifted.unary(UnaryOp::Sqrt));
        let body = centred.binary(BinaryOp::Multiply, factor).binary(BinaryOp::Add, bias);
        let operands: Vec<TensorId> = inputs.iter().take(5).flatten().copied().collect();
        program.compute(expr.map(element, body), &operands)
    }

    /// Appends x normalised by its own statistics, and the inputs' statistics blended with those.
    fn train(
        &self,
        momentum: f32,
        context: &Context,
        inputs: &[Option<TensorId>],
        program: &mut ProgramBuilder,
    ) -> Vec<TensorId> {
        let data = context.accepted(0);
        let others: Vec<usize> = (0..data.shape.len()).filter(|&dimension| dimension != 1).collect();
        let moments = moments(program, inputs[0].expect("inference found x"), &others);
        let own =
            [moments.mean, moments.variance].map(|moment| movement::reshape(program, moment, &[data.shape[1]].into()));
        let mut operands = inputs[..3].to_vec();
        operands.extend(own.map(Some));
        let output = self.normalise(context, &operands, program);
        let blended = [0, 1].map(|at| {
            let before = inputs[3 + at].expect("inference found the statistics");
            let element = program.ty(before).element;
            compose::map(program, [before, own[at]], element, |[before, own]| {
                let literal = |value: f64| Scalar::literal(element, value);
                let kept = before.binary(BinaryOp::Multiply, literal(f64::from(momentum)));
                let fresh =
                    own.cast(moments.element, element).binary(BinaryOp::Multiply, literal(1.0 - f64::from(momentum)));
                kept.binary(BinaryOp::Add, fresh)
            })
        });
        [output].into_iter().chain(blended).collect()
    }
}
