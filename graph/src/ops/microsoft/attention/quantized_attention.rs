//! `com.microsoft.QAttention`: self-attention with a projection of bytes.

use std::ops::RangeInclusive;

use super::heads::{Extents, Heads};
use crate::ops::microsoft::DOMAIN;
use crate::ops::microsoft::matmul_integer_to_float::MatMulIntegerToFloat;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Queries, keys and values, which are one product of the input with a weight, both quantised, plus a bias; then attention of
/// their heads. The inputs are the input `[batch, places, width]`, the weight, the bias, both scales, a mask `[batch]` or
/// `[batch, places]`, and both zero points; a past is not supported.
#[derive(Clone, PartialEq, Debug)]
pub struct QuantizedAttention {
    heads: Heads,
}

const MASK: usize = 5;
const PAST: usize = 8;
/// A position that no input has: nothing is added to the scores.
const NO_BIAS: usize = 9;

/// The inputs of the projection, in the order in which it has them.
fn projection<T>(input: impl Fn(usize) -> Option<T>) -> Vec<Option<T>> {
    [0, 1, 3, 4, 6, 7, 2].into_iter().map(input).collect()
}

impl QuantizedAttention {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        if context.fact(PAST).is_some() {
            return Err(InferError::Unsupported("a past is not supported".to_owned()));
        }
        let facts: Vec<Option<Fact>> = projection(|input| context.fact(input).cloned());
        let types = MatMulIntegerToFloat.infer(&Context::new(&facts, 1))?;
        let projected = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        let &[batch, places, all] = &projected.shape[..] else {
            return Err(InferError::Mismatch(format!("{projected} is not queries, keys and values")));
        };
        if !all.is_multiple_of(3) {
            return Err(InferError::Mismatch(format!("{all} columns are not queries, keys and values")));
        }
        let width = all / 3;
        let extents = Extents { batch, queries: places, keys: places, past: 0, width, value_width: width };
        self.heads.check(context, &extents, MASK, NO_BIAS)?;
        Ok(extents)
    }
}

impl Operator for QuantizedAttention {
    const NAME: &'static str = "QAttention";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 5..=9;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        for name in ["do_rotary", "past_present_share_buffer"] {
            if attributes.flag(name)? == Some(true) {
                return Err(AttributeError::Value { name, reason: "only 0 is supported".to_owned() });
            }
        }
        Ok(Self { heads: Heads::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.heads.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Extents { batch, queries, width, .. } = self.extents(context)?;
        Ok(vec![TensorType::new(ElementType::F32, [batch, queries, width]).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let input = |at: usize| inputs.get(at).copied().flatten();
        let projected = program.apply(&MatMulIntegerToFloat, &projection(input), 1)[0];
        let shape = [extents.batch, extents.queries, extents.width];
        let parts = [0, 1, 2].map(|part: usize| {
            let start = (part * extents.width) as i64;
            movement::slice(program, projected, &[0, 0, start], &[1; 3], &shape)
        });
        let [output, ..] = self.heads.lower(program, &extents, parts, [None; 2], [input(MASK), None]);
        vec![output]
    }
}
