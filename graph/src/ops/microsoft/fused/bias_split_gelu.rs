//! `com.microsoft.BiasSplitGelu`: one half of the elements gated by the other.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::elementwise::{ElementWise, floating};
use crate::ops::gelu::Gelu;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// `l · gelu(r)`, where l and r are the halves of every row of the data `[batch, places, width]` plus a bias `[width]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BiasSplitGelu;

impl Operator for BiasSplitGelu {
    const NAME: &'static str = "BiasSplitGelu";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, bias) = (context.tensor(0)?, context.tensor(1)?);
        floating(data.element)?;
        match data.shape[..] {
            [batch, places, width]
                if *bias.shape == [width] && bias.element == data.element && width.is_multiple_of(2) =>
            {
                Ok(vec![TensorType::new(data.element, [batch, places, width / 2]).into()])
            }
            _ => Err(InferError::Mismatch(format!("a bias of {bias} does not go with two halves of {data}"))),
        }
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let output = self.output(context);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let (data, bias) = (expr.operand(context.accepted(0)), expr.operand(context.accepted(1)));
        let mut half = |start: usize| {
            let place = Index::axis(axes[2]).plus(start as i64);
            let read = expr.read(data, vec![Index::axis(axes[0]), Index::axis(axes[1]), place.clone()]);
            read.binary(BinaryOp::Add, expr.read(bias, vec![place]))
        };
        let (left, right): (Scalar, Scalar) = (half(0), half(output.shape[2]));
        let body = left.binary(BinaryOp::Multiply, Gelu::Exact.body(output.element, vec![right]));
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        vec![program.compute(expr.map(output.element, body), &operands)]
    }
}
