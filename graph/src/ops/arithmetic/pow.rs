//! `Pow`: xʸ.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Literal, Scalar};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// xʸ, element-wise, broadcast; the result has the type of x, and y may have another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pow;

impl Operator for Pow {
    const NAME: &'static str = "Pow";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (base, exponent) = (context.tensor(0)?, context.tensor(1)?);
        crate::ops::elementwise::number(base.element)?;
        crate::ops::elementwise::number(exponent.element)?;
        let shape = broadcast::shapes(&base.shape, &exponent.shape)?;
        Ok(vec![TensorType { element: base.element, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        broadcast::dimension(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (base, exponent) = (context.accepted(0), context.accepted(1));
        let shape = broadcast::shapes(&base.shape, &exponent.shape).expect("inference accepted the shapes");
        let constant =
            context.fact(1).and_then(|fact| fact.value.as_ref()).filter(|value| value.shape().elements() == 1);
        let mut operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&shape);
        let x = expr.operand(base);
        let x = expr.broadcast_read(x, &axes);
        let small = constant.map(|value| value.to_f64()[0]).filter(|&value| value == 2.0 || value == 3.0);
        let body = match (small, constant) {
            (Some(exponent), _) => {
                operands.truncate(1);
                let square = x.clone().binary(BinaryOp::Multiply, x.clone());
                if exponent == 2.0 { square } else { square.binary(BinaryOp::Multiply, x) }
            }
            (None, Some(value)) if base.element.is_float() => {
                operands.truncate(1);
                x.binary(BinaryOp::Power, Scalar::Literal(Literal::new(base.element, value.to_f64()[0])))
            }
            (None, _) => {
                let y = expr.operand(exponent);
                let y = expr.broadcast_read(y, &axes);
                let (from, to) = (exponent.element, base.element);
                if from.is_float() && !to.is_float() {
                    x.cast(to, from).binary(BinaryOp::Power, y).cast(from, to)
                } else {
                    x.binary(BinaryOp::Power, y.cast(from, to))
                }
            }
        };
        vec![program.compute(expr.map(base.element, body), &operands)]
    }
}
