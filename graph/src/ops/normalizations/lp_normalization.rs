//! `LpNormalization`: elements divided by their norm along an axis.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Reducer, Scalar, UnaryOp};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, compose, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The norm by which is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Norm {
    /// The sum of absolute values.
    Sum,
    /// The root of the sum of squares.
    Euclidean,
}

/// Every element divided by the norm along the axis; 0 where the norm is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LpNormalization {
    axis: i64,
    norm: Norm,
}

impl Operator for LpNormalization {
    const NAME: &'static str = "LpNormalization";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let norm = match attributes.int("p")?.unwrap_or(2) {
            1 => Norm::Sum,
            2 => Norm::Euclidean,
            other => {
                let reason = format!("a norm of order {other} is not defined, only 1 and 2 are");
                return Err(AttributeError::Value { name: "p", reason });
            }
        };
        Ok(Self { axis: attributes.int("axis")?.unwrap_or(-1), norm })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let order = if self.norm == Norm::Sum { 1 } else { 2 };
        vec![("axis", Attribute::Int(self.axis)), ("p", Attribute::Int(order))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        axes::dimension(self.axis, data.shape.len())?;
        Ok(vec![data.clone().into()])
    }

    fn follows(&self, context: &Context, _: usize, dimension: usize) -> Option<usize> {
        let own = axes::dimension(self.axis, context.accepted(0).shape.len()).ok()?;
        (dimension != own).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let (element, input) = (data.element, inputs[0].expect("inference found the input"));
        let dimension = axes::dimension(self.axis, data.shape.len()).expect("inference accepted the axis");
        let wide = element.compute();
        let sizes = compose::map(program, [input], wide, |[x]| {
            let x = x.cast(element, wide);
            match self.norm {
                Norm::Sum => x.unary(UnaryOp::Absolute),
                Norm::Euclidean => x.clone().binary(BinaryOp::Multiply, x),
            }
        });
        let total = compose::reduce(program, sizes, &[dimension], Reducer::Sum);
        vec![compose::map(program, [input, total], element, |[x, total]| {
            let zero = Scalar::literal(wide, 0.0);
            let norm = if self.norm == Norm::Sum { total.clone() } else { total.clone().unary(UnaryOp::Sqrt) };
            let share = x.cast(element, wide).binary(BinaryOp::Divide, norm);
            total.binary(BinaryOp::Equal, zero.clone()).select(zero, share).cast(wide, element)
        })]
    }
}
