//! `Range`: an arithmetic progression.

use std::ops::RangeInclusive;

use super::{AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// `start, start + delta, …` before `limit`; all three are constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range;

/// Longest progression that is accepted.
const LIMIT: f64 = (1u64 << 40) as f64;

impl Operator for Range {
    const NAME: &'static str = "Range";
    const OPSETS: RangeInclusive<i64> = 11..=25;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let bound = |input: usize| {
            let value = context.constant(input)?.ok_or(InferError::Missing(input))?;
            let one = value.shape().checked_elements() == Some(1) && value.element() != ElementType::Bool;
            let error = || InferError::Mismatch(format!("input {input} is not one number"));
            if one { Ok(value.to_f64()[0]) } else { Err(error()) }
        };
        if bound(2)? == 0.0 {
            return Err(InferError::Mismatch("the step is 0".to_owned()));
        }
        let count = ((bound(1)? - bound(0)?) / bound(2)?).ceil().max(0.0);
        let element = context.tensor(0)?.element;
        let same = (1..3).all(|input| context.tensor(input).is_ok_and(|ty| ty.element == element));
        if count.is_nan() || count >= LIMIT || !same {
            return Err(InferError::Mismatch("the bounds make no progression".to_owned()));
        }
        Ok(vec![TensorType::new(element, [count as usize]).into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let output = self.output(context);
        let bound = |input: usize| {
            let value = context.constant(input).expect("inference found a constant");
            elementwise::constant(value.expect("inference found the input"))
        };
        let mut expr = ExprBuilder::new();
        let axis = expr.parallel(output.shape[0]);
        let place = Scalar::Index(Index::axis(axis), ElementType::I64).cast(ElementType::I64, output.element);
        let body = bound(0).binary(BinaryOp::Add, place.binary(BinaryOp::Multiply, bound(2)));
        vec![program.compute(expr.map(output.element, body), &[])]
    }
}
