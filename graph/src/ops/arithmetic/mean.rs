//! `Mean`: the mean of the inputs.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{floating, fold, folded};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The mean of any number of inputs, element-wise, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mean;

impl Operator for Mean {
    const NAME: &'static str = "Mean";
    const INPUTS: RangeInclusive<usize> = 1..=usize::MAX;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let TensorType { element, shape } = broadcast::infer(context)?;
        Ok(vec![TensorType { element: floating(element)?, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        broadcast::dimension(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let count = Scalar::literal(element, inputs.len() as f64);
        let few = folded(BinaryOp::Add, inputs, program);
        let mean = |operands| fold(BinaryOp::Add, operands).binary(BinaryOp::Divide, count);
        vec![broadcast::map(&few, program, element, mean)]
    }
}
