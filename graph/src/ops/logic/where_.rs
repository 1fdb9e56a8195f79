//! `Where`: a choice between two tensors.

use std::ops::RangeInclusive;

use crate::expr::{ExprBuilder, Scalar};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The second input where the first holds, else the third; all broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Where;

fn shape(context: &Context) -> Result<Shape, InferError> {
    let choices = broadcast::shapes(&context.tensor(1)?.shape, &context.tensor(2)?.shape)?;
    broadcast::shapes(&context.tensor(0)?.shape, &choices)
}

impl Operator for Where {
    const NAME: &'static str = "Where";
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (condition, then, otherwise) = (context.tensor(0)?, context.tensor(1)?, context.tensor(2)?);
        if condition.element != ElementType::Bool || then.element != otherwise.element {
            return Err(InferError::Mismatch(format!("{condition}, {then} and {otherwise} make no choice")));
        }
        Ok(vec![TensorType { element: then.element, shape: shape(context)? }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        broadcast::dimension(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&shape(context).expect("inference accepted the shapes"));
        let reads = (0..3).map(|input| {
            let operand = expr.operand(context.accepted(input));
            expr.broadcast_read(operand, &axes)
        });
        let [condition, then, otherwise] = crate::ops::elementwise::operands(reads.collect::<Vec<Scalar>>());
        let body = condition.select(then, otherwise);
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        vec![program.compute(expr.map(context.accepted(1).element, body), &operands)]
    }
}
