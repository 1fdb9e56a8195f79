//! `Adagrad`: steps divided by the root of all squares of gradients.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::optimizer::{MOST_INPUTS, Roles, regularized, scalar};
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// One step of every tensor. The inputs are the learning rate, the count of updates, the tensors, their gradients and the sums of
/// the gradients' squares; the outputs the new tensors and sums.
#[derive(Clone, PartialEq, Debug)]
pub struct Adagrad {
    decay: f32,
    epsilon: f32,
    norm: f32,
}

const ROLES: Roles = Roles(3);

impl Operator for Adagrad {
    const NAME: &'static str = "Adagrad";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 5..=MOST_INPUTS;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self {
            decay: attributes.float("decay_factor")?.unwrap_or(0.0),
            epsilon: attributes.float("epsilon")?.unwrap_or(1e-6),
            norm: attributes.float("norm_coefficient")?.unwrap_or(0.0),
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        [("decay_factor", self.decay), ("epsilon", self.epsilon), ("norm_coefficient", self.norm)]
            .map(|(name, value)| (name, Attribute::Float(value)))
            .to_vec()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        ROLES.outputs(context, 2)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let update = ROLES.update(program, inputs);
        let (mut tensors, mut sums) = (Vec::new(), Vec::new());
        for ((&x, &gradient), &sum) in update.tensors[0].iter().zip(&update.tensors[1]).zip(&update.tensors[2]) {
            let element = program.ty(x).element;
            let literal = |value: f32| Scalar::literal(element, f64::from(value));
            let rate = scalar(program, &update, element, |[rate, count]| {
                let slower = count.binary(BinaryOp::Multiply, literal(self.decay)).binary(BinaryOp::Add, literal(1.0));
                rate.binary(BinaryOp::Divide, slower)
            });
            let gradient = regularized(program, self.norm, x, gradient);
            let sum = compose::map(program, [sum, gradient], element, |[sum, g]| {
                sum.binary(BinaryOp::Add, g.clone().binary(BinaryOp::Multiply, g))
            });
            tensors.push(compose::map(program, [x, gradient, sum, rate], element, |[x, gradient, sum, rate]| {
                let size = sum.unary(UnaryOp::Sqrt).binary(BinaryOp::Add, literal(self.epsilon));
                let step = rate.binary(BinaryOp::Multiply, gradient).binary(BinaryOp::Divide, size);
                x.binary(BinaryOp::Subtract, step)
            }));
            sums.push(sum);
        }
        tensors.into_iter().chain(sums).collect()
    }
}
