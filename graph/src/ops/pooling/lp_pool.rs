//! `LpPool`: the norm of every window.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Literal, Reducer, Scalar, UnaryOp};
use crate::ops::pool::Pool;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// (Σ |x|ᵖ)^(1/p) over every window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LpPool {
    pool: Pool,
    order: Order,
}

/// The order p of a norm, which is positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ops) struct Order(i64);

impl Order {
    pub(in crate::ops) fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        // Before opset 2 the order is a single.
        let order = match attributes.opset() < 2 {
            true => attributes.float("p")?.map(whole).transpose()?,
            false => attributes.int("p")?,
        };
        match order.unwrap_or(2) {
            order @ 1..=64 => Ok(Self(order)),
            other => {
                Err(AttributeError::Value { name: "p", reason: format!("a norm of order {other} is not possible") })
            }
        }
    }

    pub(in crate::ops) fn attribute(self) -> (&'static str, Attribute) {
        ("p", Attribute::Int(self.0))
    }

    /// |x|ᵖ.
    pub(in crate::ops) fn power(self, element: ElementType, x: Scalar) -> Scalar {
        match self.0 {
            1 => x.unary(UnaryOp::Absolute),
            2 => x.clone().binary(BinaryOp::Multiply, x),
            order => x.unary(UnaryOp::Absolute).binary(BinaryOp::Power, Scalar::literal(element, order as f64)),
        }
    }

    /// x^(1/p), with a gradient of 0 where x is 0, as other norms have.
    pub(in crate::ops) fn root(self, element: ElementType, x: Scalar) -> Scalar {
        let zero = Scalar::literal(element, 0.0);
        let root = match self.0 {
            1 => return x,
            2 => x.clone().unary(UnaryOp::Sqrt),
            order => x.clone().binary(BinaryOp::Power, Scalar::literal(element, 1.0 / order as f64)),
        };
        x.binary(BinaryOp::Equal, zero.clone()).select(zero, root)
    }
}

/// An order that was given as a single.
fn whole(order: f32) -> Result<i64, AttributeError> {
    match order.fract() == 0.0 {
        true => Ok(order as i64),
        false => Err(AttributeError::Value { name: "p", reason: format!("a norm of order {order} is not supported") }),
    }
}

impl Operator for LpPool {
    const NAME: &'static str = "LpPool";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { pool: Pool::from_attributes(attributes)?, order: Order::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.pool.window.attributes();
        attributes.push(("ceil_mode", Attribute::Int(i64::from(self.pool.round_up))));
        attributes.push(self.order.attribute());
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        elementwise::floating(context.tensor(0)?.element)?;
        Ok(vec![self.pool.infer(context)?.into()])
    }

    fn follows(&self, _: &Context, _: usize, dimension: usize) -> Option<usize> {
        (dimension < 2).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let data = inputs[0].expect("inference found the input");
        let wide = element.compute();
        let powers = compose::map(program, [data], wide, |[x]| self.order.power(wide, x.cast(element, wide)));
        let zero = Literal::new(wide, 0.0);
        vec![self.pool.reduce(context, powers, program, Reducer::Sum, zero, |_, _, _| {
            Some(self.order.root(wide, Scalar::Reduced).cast(wide, element))
        })]
    }
}
