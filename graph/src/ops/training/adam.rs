//! `Adam`: steps along a mean of gradients, divided by the root of a mean of their squares.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::optimizer::{MOST_INPUTS, Roles, regularized, scalar};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// One step of every tensor. The inputs are the learning rate, the count of updates, the tensors, their gradients, the means of
/// those and of their squares; the outputs the new tensors and means.
#[derive(Clone, PartialEq, Debug)]
pub struct Adam {
    alpha: f32,
    beta: f32,
    epsilon: f32,
    norm: f32,
    /// What a tensor loses of itself behind the step.
    norm_post: f32,
}

const ROLES: Roles = Roles(4);

impl Operator for Adam {
    const NAME: &'static str = "Adam";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 6..=MOST_INPUTS;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut float = |name: &'static str, usual: f32| Ok(attributes.float(name)?.unwrap_or(usual));
        Ok(Self {
            alpha: float("alpha", 0.9)?,
            beta: float("beta", 0.999)?,
            epsilon: float("epsilon", 1e-6)?,
            norm: float("norm_coefficient", 0.0)?,
            norm_post: float("norm_coefficient_post", 0.0)?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let floats = [
            ("alpha", self.alpha),
            ("beta", self.beta),
            ("epsilon", self.epsilon),
            ("norm_coefficient", self.norm),
            ("norm_coefficient_post", self.norm_post),
        ];
        floats.map(|(name, value)| (name, Attribute::Float(value))).to_vec()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        ROLES.outputs(context, 3)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let update = ROLES.update(program, inputs);
        let [mut tensors, mut means, mut squares] = [(); 3].map(|()| Vec::new());
        for at in 0..update.tensors[0].len() {
            let [x, gradient, mean, square] = [0, 1, 2, 3].map(|role: usize| update.tensors[role][at]);
            let element = program.ty(x).element;
            let literal = |value: f64| Scalar::literal(element, value);
            let (alpha, beta) = (f64::from(self.alpha), f64::from(self.beta));
            // Means of few updates are too small.
            let rate = scalar(program, &update, element, |[rate, count]| {
                let rest = |factor: f64| {
                    let kept = literal(factor).binary(BinaryOp::Power, count.clone());
                    literal(1.0).binary(BinaryOp::Subtract, kept)
                };
                let adjusted = rate.clone().binary(BinaryOp::Multiply, rest(beta).unary(UnaryOp::Sqrt));
                let adjusted = adjusted.binary(BinaryOp::Divide, rest(alpha));
                literal(0.0).binary(BinaryOp::Less, count.clone()).select(adjusted, rate)
            });
            let gradient = regularized(program, self.norm, x, gradient);
            let blend = |factor: f64, old: Scalar, new: Scalar| {
                let kept = old.binary(BinaryOp::Multiply, literal(factor));
                kept.binary(BinaryOp::Add, new.binary(BinaryOp::Multiply, literal(1.0 - factor)))
            };
            let mean =
                compose::map(program, [mean, gradient], element, |[mean, gradient]| blend(alpha, mean, gradient));
            let square = compose::map(program, [square, gradient], element, |[square, gradient]| {
                blend(beta, square, gradient.clone().binary(BinaryOp::Multiply, gradient))
            });
            tensors.push(compose::map(program, [x, mean, square, rate], element, |[x, mean, square, rate]| {
                let size = square.unary(UnaryOp::Sqrt).binary(BinaryOp::Add, literal(f64::from(self.epsilon)));
                let step = rate.binary(BinaryOp::Multiply, mean).binary(BinaryOp::Divide, size);
                let moved = x.binary(BinaryOp::Subtract, step);
                if self.norm_post == 0.0 {
                    return moved;
                }
                moved.binary(BinaryOp::Multiply, literal(1.0 - f64::from(self.norm_post)))
            }));
            means.push(mean);
            squares.push(square);
        }
        tensors.into_iter().chain(means).chain(squares).collect()
    }
}
