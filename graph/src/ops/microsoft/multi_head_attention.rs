//! `com.microsoft.MultiHeadAttention`: attention of projected queries, keys and values.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::heads::{Extents, Heads};
use crate::ops::add::Add;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Attention of heads. The inputs are queries, keys and values `[batch, places, width]`, the bias of all three, a mask `[batch]` or
/// `[batch, keys]`, and what is added to the scores; packed forms and a past are not supported. Singles are supported.
#[derive(Clone, PartialEq, Debug)]
pub struct MultiHeadAttention {
    heads: Heads,
}

const PARTS: [usize; 3] = [0, 1, 2];
const OFFSETS: usize = 3;
const MASK: usize = 4;
const BIAS: usize = 5;

impl MultiHeadAttention {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        if (6..context.inputs()).any(|input| context.fact(input).is_some()) {
            return Err(InferError::Unsupported("a past is not supported".to_owned()));
        }
        let parts = PARTS.map(|input| context.tensor(input));
        let [queries, keys, values] = [parts[0].clone()?, parts[1].clone()?, parts[2].clone()?];
        let mismatch =
            || InferError::Unsupported(format!("attention of {queries}, {keys} and {values} is not supported"));
        let shapes = (&queries.shape[..], &keys.shape[..], &values.shape[..]);
        let (&[batch, places, width], &[b, length, w], &[c, values_length, value_width]) = shapes else {
            return Err(mismatch());
        };
        let alike = [queries, keys, values].iter().all(|ty| ty.element == ElementType::F32);
        if !alike || b != batch || c != batch || w != width || length != values_length {
            return Err(mismatch());
        }
        if let Some(bias) = context.optional(OFFSETS)?
            && (bias.element != ElementType::F32 || *bias.shape != [2 * width + value_width])
        {
            return Err(InferError::Mismatch(format!("a bias of {bias} does not go with {queries} and {values}")));
        }
        let extents = Extents { batch, queries: places, keys: length, width, value_width };
        self.heads.check(context, &extents, MASK, BIAS)?;
        Ok(extents)
    }
}

impl Operator for MultiHeadAttention {
    const NAME: &'static str = "MultiHeadAttention";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 3..=10;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { heads: Heads::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.heads.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Extents { batch, queries, value_width, .. } = self.extents(context)?;
        Ok(vec![TensorType::new(ElementType::F32, [batch, queries, value_width]).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let input = |at: usize| inputs.get(at).copied().flatten();
        let widths = [extents.width, extents.width, extents.value_width];
        let parts = PARTS.map(|at| {
            let part = inputs[at].expect("inference found queries, keys and values");
            match input(OFFSETS) {
                None => part,
                Some(bias) => {
                    let start = at * extents.width;
                    let bias = movement::slice(program, bias, &[start as i64], &[1], &[widths[at]]);
                    program.apply(&Add, &[Some(part), Some(bias)], 1)[0]
                }
            }
        });
        vec![self.heads.lower(program, &extents, parts, [input(MASK), input(BIAS)])]
    }
}
