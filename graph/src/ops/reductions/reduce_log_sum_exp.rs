//! `ReduceLogSumExp`: the logarithm of the sum of exponentials along axes.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Reducer, Scalar, UnaryOp};
use crate::ops::reduction::Reduction;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise, movement,
};
use crate::program::Ties;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// m + ln Σ eˣ⁻ᵐ along axes, where m is the largest element, or 0 where that is infinite.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReduceLogSumExp {
    reduction: Reduction,
}

impl Operator for ReduceLogSumExp {
    const NAME: &'static str = "ReduceLogSumExp";
    const INPUTS: RangeInclusive<usize> = 1..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { reduction: Reduction::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.reduction.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        elementwise::floating(context.tensor(0)?.element)?;
        Ok(vec![self.reduction.infer(context)?.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        self.reduction.follows(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let dimensions = self.reduction.dimensions(context).expect("inference accepted the axes");
        let (data, output) = (inputs[0].expect("inference found the input"), self.output(context));
        let element = output.element;
        if dimensions.is_empty() {
            return vec![data];
        }
        let largest =
            program.with_ties(Ties::Cancelled, |program| compose::reduce(program, data, &dimensions, Reducer::Maximum));
        let bound = |value: f64| Scalar::literal(element, value);
        let shift = compose::map(program, [largest], element, |[x]| {
            let size = x.clone().unary(UnaryOp::Absolute);
            size.binary(BinaryOp::Less, bound(f64::INFINITY)).select(x, bound(0.0))
        });
        let wide = element.compute();
        let exponentials = compose::map(program, [data, shift], wide, |operands| {
            let [x, shift] = operands.map(|value| value.cast(element, wide));
            x.binary(BinaryOp::Subtract, shift).unary(UnaryOp::Exp)
        });
        let total = compose::reduce(program, exponentials, &dimensions, Reducer::Sum);
        let result = compose::map(program, [total, shift], element, |[total, shift]| {
            total.unary(UnaryOp::Log).binary(BinaryOp::Add, shift.cast(element, wide)).cast(wide, element)
        });
        vec![movement::reshape(program, result, &output.shape)]
    }
}
