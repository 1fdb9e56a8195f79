//! `GlobalLpPool`: the norm of every channel.

use std::ops::RangeInclusive;

use crate::expr::Reducer;
use crate::ops::lp_pool::Order;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// (Σ |x|ᵖ)^(1/p) of every channel of `[N, C, …]`, over all spatial dimensions, which become 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalLpPool {
    order: Order,
}

impl Operator for GlobalLpPool {
    const NAME: &'static str = "GlobalLpPool";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { order: Order::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![self.order.attribute()]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        if data.shape.len() < 3 {
            return Err(InferError::Mismatch(format!("{data} has no spatial dimensions")));
        }
        let spatial: Vec<usize> = (2..data.shape.len()).collect();
        Ok(vec![TensorType { element: data.element, shape: compose::kept(&data.shape, &spatial) }.into()])
    }

    fn follows(&self, _: &Context, _: usize, dimension: usize) -> Option<usize> {
        (dimension < 2).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let data = inputs[0].expect("inference found the input");
        let spatial: Vec<usize> = (2..context.accepted(0).shape.len()).collect();
        let wide = element.compute();
        let powers = compose::map(program, [data], wide, |[x]| self.order.power(wide, x.cast(element, wide)));
        let total = compose::reduce(program, powers, &spatial, Reducer::Sum);
        vec![compose::map(program, [total], element, |[x]| self.order.root(wide, x).cast(wide, element))]
    }
}
