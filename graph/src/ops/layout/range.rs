//! `Range`: an arithmetic progression.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// `start, start + delta, …` before `limit`; all three are constants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// Whether 16-bit floating point is computed in singles, as from opset 27 unless the attribute says otherwise.
    in_singles: bool,
}

/// Longest progression that is accepted.
const LIMIT: f64 = (1u64 << 40) as f64;

impl Operator for Range {
    const NAME: &'static str = "Range";
    const OPSETS: RangeInclusive<i64> = 11..=crate::ops::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let default = i64::from(attributes.opset() >= 27);
        Ok(Self { in_singles: attributes.int("stash_type")?.unwrap_or(default) == 1 })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("stash_type", Attribute::Int(i64::from(self.in_singles)))]
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
        let element = match output.element {
            ElementType::F16 | ElementType::BF16 if self.in_singles => ElementType::F32,
            element => element,
        };
        let mut expr = ExprBuilder::new();
        let axis = expr.parallel(output.shape[0]);
        let place = Scalar::Index(Index::axis(axis), ElementType::I64).cast(ElementType::I64, element);
        let step = place.binary(BinaryOp::Multiply, bound(2).cast(output.element, element));
        let body = bound(0).cast(output.element, element).binary(BinaryOp::Add, step);
        vec![program.compute(expr.map(output.element, body.cast(element, output.element)), &[])]
    }
}
