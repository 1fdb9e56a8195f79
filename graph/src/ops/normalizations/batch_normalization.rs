//! `BatchNormalization`: normalisation by known statistics.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::ops::normalization::moments;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// `(x − mean) / √(variance + epsilon) · scale + bias` per channel of `[N, C, …]`. The inputs are x, scale, bias, mean and
/// variance. Where those four are known and x is of singles, the product with the quotient and the sum are what is left.
#[derive(Clone, PartialEq, Debug)]
pub struct BatchNormalization {
    /// Added to the variance.
    pub epsilon: f32,
    /// How much of mean and variance stays where they are blended with those of a batch.
    pub momentum: f32,
    /// What x is normalised by.
    pub statistics: Statistics,
    /// What the parameters are of.
    pub parameters: Parameters,
}

/// What has a scale, a bias, a mean and a variance of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameters {
    OfChannel,
    /// A place of an image, as opsets before 9 allow: `[C, …]`.
    OfPlace,
}

/// Where mean and variance of a normalisation come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistics {
    /// From the inputs.
    Given,
    /// From x. The inputs' are blended with them to be the other outputs.
    OfBatch,
}

/// The momentum where a node names none.
const MOMENTUM: f32 = 0.9;

impl Operator for BatchNormalization {
    const NAME: &'static str = "BatchNormalization";
    const INPUTS: RangeInclusive<usize> = 5..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let momentum = attributes.float("momentum")?.unwrap_or(MOMENTUM);
        let statistics = match attributes.flag("training_mode")? {
            Some(true) => Statistics::OfBatch,
            Some(false) | None => Statistics::Given,
        };
        // Before opset 7 training is the default; exporters of that time say that they do not want it.
        if attributes.opset() < 7 && attributes.flag("is_test")? != Some(true) {
            let reason = "training is not supported: 1 is needed".to_owned();
            return Err(AttributeError::Value { name: "is_test", reason });
        }
        let parameters = match attributes.flag("spatial")? {
            Some(false) => Parameters::OfPlace,
            Some(true) | None => Parameters::OfChannel,
        };
        if parameters == Parameters::OfPlace && statistics == Statistics::OfBatch {
            let reason = "statistics of a batch are those of channels".to_owned();
            return Err(AttributeError::Value { name: "spatial", reason });
        }
        Ok(Self { epsilon: attributes.float("epsilon")?.unwrap_or(1e-5), momentum, statistics, parameters })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = vec![("epsilon", Attribute::Float(self.epsilon))];
        if self.momentum != MOMENTUM {
            attributes.push(("momentum", Attribute::Float(self.momentum)));
        }
        if self.statistics == Statistics::OfBatch {
            attributes.push(("training_mode", Attribute::Int(1)));
        }
        if self.parameters == Parameters::OfPlace {
            attributes.push(("spatial", Attribute::Int(0)));
        }
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        if context.outputs() > 1 && self.statistics == Statistics::Given {
            return Err(InferError::Unsupported("statistics as outputs belong to training".to_owned()));
        }
        let extents = match self.parameters {
            Parameters::OfChannel => data.shape.get(1..2),
            Parameters::OfPlace => data.shape.get(1..),
        };
        for input in 1..5 {
            let parameter = context.tensor(input)?;
            if extents.is_none_or(|extents| *parameter.shape != *extents) || !parameter.element.is_float() {
                return Err(InferError::Mismatch(format!("{parameter} does not go with the channels of {data}")));
            }
        }
        let statistics = [context.tensor(3)?, context.tensor(4)?].map(Clone::clone);
        let all = [data.clone()].into_iter().chain(statistics);
        Ok(all.take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        let apart = self.statistics == Statistics::Given && input == 0 && dimension == 0;
        apart.then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        if self.statistics == Statistics::OfBatch {
            return self.train(context, inputs, program);
        }
        let known = [1, 2, 3, 4].map(|input| context.constant(input).ok().flatten());
        let is_single = context.accepted(0).element == ElementType::F32;
        vec![match known {
            [Some(scale), Some(bias), Some(mean), Some(variance)] if is_single && self.is_of_channels() => {
                let factors = self.factors([scale, bias, mean, variance]);
                scale_and_shift(context, inputs[0].expect("inference found x"), factors, program)
            }
            _ => self.normalise(context, inputs, program),
        }]
    }
}

/// Appends `x · factor + shift` per channel; the two constants are given.
fn scale_and_shift(context: &Context, x: TensorId, constants: [Tensor; 2], program: &mut ProgramBuilder) -> TensorId {
    let data = context.accepted(0);
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&data.shape);
    let operand = expr.operand(data);
    let element = expr.broadcast_read(operand, &axes);
    let constants = constants.map(|constant| program.constant(constant));
    let [factor, shift] = constants.map(|constant| {
        let operand = expr.operand(program.ty(constant));
        expr.read(operand, vec![Index::axis(axes[1])])
    });
    let body = element.binary(BinaryOp::Multiply, factor).binary(BinaryOp::Add, shift);
    program.compute(expr.map(data.element, body), &[x, constants[0], constants[1]])
}

impl BatchNormalization {
    /// Whether a channel has parameters, not a place.
    fn is_of_channels(&self) -> bool {
        self.parameters == Parameters::OfChannel
    }

    /// `scale / √(variance + epsilon)` and `bias − mean · factor` of known scale, bias, mean and variance, found in doubles
    /// and rounded to singles once.
    fn factors(&self, parameters: [&Tensor; 4]) -> [Tensor; 2] {
        let [scale, bias, mean, variance] = parameters.map(Tensor::to_f64);
        let epsilon = f64::from(self.epsilon);
        let factors: Vec<f64> = scale.iter().zip(&variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
        let shifts: Vec<f64> = (0..factors.len()).map(|at| bias[at] - mean[at] * factors[at]).collect();
        let ty = TensorType::new(ElementType::F32, [factors.len()]);
        [factors, shifts].map(|values| Tensor::from_f64(ty.clone(), &values))
    }

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
            let own = if self.is_of_channels() { &axes[1..2] } else { &axes[1..] };
            expr.read(operand, own.iter().map(|&axis| Index::axis(axis)).collect()).cast(ty.element, element)
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
    fn train(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
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
                let momentum = f64::from(self.momentum);
                let kept = before.binary(BinaryOp::Multiply, literal(momentum));
                let fresh = own.cast(moments.element, element).binary(BinaryOp::Multiply, literal(1.0 - momentum));
                kept.binary(BinaryOp::Add, fresh)
            })
        });
        [output].into_iter().chain(blended).collect()
    }
}
