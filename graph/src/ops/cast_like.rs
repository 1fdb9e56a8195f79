//! `CastLike`: conversion to the element type of another tensor.

use std::ops::RangeInclusive;

use super::{AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, broadcast, elementwise};
use crate::expr::Scalar;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// Every element of the first input converted to the type of the second's; floating point to integer truncates and
/// saturates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CastLike;

impl Operator for CastLike {
    const NAME: &'static str = "CastLike";
    const OPSETS: RangeInclusive<i64> = 15..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        attributes.int("saturate")?;
        attributes.string("round_mode")?;
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let shape = context.tensor(0)?.shape.clone();
        Ok(vec![TensorType { element: context.tensor(1)?.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (from, to) = (context.accepted(0).element, context.accepted(1).element);
        let input = inputs[0].expect("inference found the input");
        if from == to {
            return vec![input];
        }
        let body = |reads| {
            let [x]: [Scalar; 1] = elementwise::operands(reads);
            x.cast(from, to)
        };
        vec![broadcast::map(&[Some(input)], program, to, body)]
    }
}
