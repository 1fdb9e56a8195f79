//! `Momentum`: steps along a mean of past gradients.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::optimizer::{MOST_INPUTS, Roles, regularized, scalar};
use crate::expr::{BinaryOp, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// One step of every tensor. The inputs are the learning rate, the count of updates, the tensors, their gradients and momenta; the
/// outputs the new tensors and momenta.
#[derive(Clone, PartialEq, Debug)]
pub struct Momentum {
    alpha: f32,
    beta: f32,
    norm: f32,
    mode: Mode,
}

/// What a step goes along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// The new momentum.
    Standard,
    /// The gradient and the new momentum.
    Nesterov,
}

const ROLES: Roles = Roles(3);

impl Operator for Momentum {
    const NAME: &'static str = "Momentum";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 5..=MOST_INPUTS;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut float = |name: &'static str| attributes.float(name)?.ok_or(AttributeError::Missing(name));
        let (alpha, beta, norm) = (float("alpha")?, float("beta")?, float("norm_coefficient")?);
        let mode = match attributes.string("mode")?.as_deref() {
            Some("standard") => Mode::Standard,
            Some("nesterov") => Mode::Nesterov,
            Some(other) => {
                return Err(AttributeError::Value { name: "mode", reason: format!("`{other}` is unknown") });
            }
            None => return Err(AttributeError::Missing("mode")),
        };
        Ok(Self { alpha, beta, norm, mode })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mode = if self.mode == Mode::Nesterov { "nesterov" } else { "standard" };
        let floats = [("alpha", self.alpha), ("beta", self.beta), ("norm_coefficient", self.norm)];
        let floats = floats.map(|(name, value)| (name, Attribute::Float(value)));
        floats.into_iter().chain([("mode", Attribute::String(mode.to_owned()))]).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        ROLES.outputs(context, 2)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let update = ROLES.update(program, inputs);
        let (mut tensors, mut momenta) = (Vec::new(), Vec::new());
        for ((&x, &gradient), &momentum) in update.tensors[0].iter().zip(&update.tensors[1]).zip(&update.tensors[2]) {
            let element = program.ty(x).element;
            let literal = |value: f32| Scalar::literal(element, f64::from(value));
            let rate = scalar(program, &update, element, |[rate, _]| rate);
            // The first update takes the whole gradient.
            let part = scalar(program, &update, element, |[_, count]| {
                literal(0.0).binary(BinaryOp::Less, count).select(literal(self.beta), literal(1.0))
            });
            let gradient = regularized(program, self.norm, x, gradient);
            let momentum = compose::map(program, [momentum, gradient, part], element, |[momentum, gradient, part]| {
                let kept = momentum.binary(BinaryOp::Multiply, literal(self.alpha));
                kept.binary(BinaryOp::Add, part.binary(BinaryOp::Multiply, gradient))
            });
            tensors.push(compose::map(
                program,
                [x, gradient, momentum, rate],
                element,
                |[x, gradient, momentum, rate]| {
                    let along = match self.mode {
                        Mode::Standard => momentum,
                        Mode::Nesterov => {
                            gradient.binary(BinaryOp::Add, momentum.binary(BinaryOp::Multiply, literal(self.alpha)))
                        }
                    };
                    x.binary(BinaryOp::Subtract, rate.binary(BinaryOp::Multiply, along))
                },
            ));
            momenta.push(momentum);
        }
        tensors.into_iter().chain(momenta).collect()
    }
}
