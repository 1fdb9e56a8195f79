//! `Clip`: the input within bounds.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::Ties;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// min(max(x, minimum), maximum). The bounds are attributes before opset 11 and optional scalar inputs from then on.
#[derive(Clone, PartialEq, Debug)]
pub struct Clip {
    minimum: Option<f32>,
    maximum: Option<f32>,
}

impl Operator for Clip {
    const NAME: &'static str = "Clip";
    const INPUTS: RangeInclusive<usize> = 1..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { minimum: attributes.float("min")?, maximum: attributes.float("max")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let minimum = self.minimum.map(|value| ("min", Attribute::Float(value)));
        let maximum = self.maximum.map(|value| ("max", Attribute::Float(value)));
        minimum.into_iter().chain(maximum).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let ty = context.tensor(0)?;
        elementwise::number(ty.element)?;
        for bound in 1..3 {
            if let Some(bound) = context.optional(bound)?
                && (bound.element != ty.element || bound.shape.checked_elements() != Some(1) || bound.shape.len() > 1)
            {
                return Err(InferError::Mismatch(format!("a bound is {bound} and must be one {}", ty.element)));
            }
        }
        Ok(vec![ty.clone().into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let ty: &TensorType = context.accepted(0);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let x = expr.operand(ty);
        let mut body = expr.broadcast_read(x, &axes);
        let mut operands: Vec<TensorId> = inputs.iter().take(1).flatten().copied().collect();
        let bounds = [(BinaryOp::Maximum, self.minimum), (BinaryOp::Minimum, self.maximum)];
        for (position, (op, attribute)) in bounds.into_iter().enumerate() {
            if let Some(value) = attribute {
                body = body.binary(op, Scalar::literal(ty.element, f64::from(value)));
            } else if let Some(fact) = context.fact(position + 1) {
                let bound = match &fact.value {
                    Some(value) => elementwise::constant(value),
                    None => {
                        operands.extend(inputs[position + 1]);
                        let operand = expr.operand(context.accepted(position + 1));
                        expr.read(operand, vec![Index::constant(0); context.accepted(position + 1).shape.len()])
                    }
                };
                body = body.binary(op, bound);
            }
        }
        let clipped = expr.map(ty.element, body);
        // At a bound, a number takes the whole gradient and a tensor takes half, as in torch.clamp.
        let ties = if operands.len() == 1 { Ties::Last } else { Ties::Shared };
        vec![program.with_ties(ties, |program| program.compute(clipped, &operands))]
    }
}
