//! `com.microsoft.MultiHeadAttention`: attention of projected queries, keys and values.

use std::ops::RangeInclusive;

use super::heads::{Extents, Heads};
use crate::ops::add::Add;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// Attention of heads. The inputs are:
/// - queries, keys and values `[batch, places, width]`, the last two maybe as heads
///   `[batch, heads, places, width / heads]`;
/// - the bias of all three;
/// - a mask `[batch]` or `[batch, keys]`;
/// - what is added to the scores;
/// - the past of keys and of values, as heads.
///
/// The other outputs are the past with the new keys and values behind it. Packed forms are not supported.
#[derive(Clone, PartialEq, Debug)]
pub struct MultiHeadAttention {
    heads: Heads,
}

const PARTS: [usize; 3] = [0, 1, 2];
const OFFSETS: usize = 3;
const MASK: usize = 4;
const BIAS: usize = 5;
const PASTS: [usize; 2] = [6, 7];

impl MultiHeadAttention {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        if (8..context.inputs()).any(|input| context.fact(input).is_some()) {
            return Err(InferError::Unsupported("a past in a shared buffer is not supported".to_owned()));
        }
        let parts = PARTS.map(|input| context.tensor(input));
        let [queries, keys, values] = [parts[0].clone()?, parts[1].clone()?, parts[2].clone()?];
        let mismatch =
            || InferError::Unsupported(format!("attention of {queries}, {keys} and {values} is not supported"));
        let flat = |ty: &TensorType| match ty.shape[..] {
            [batch, places, width] => Some([batch, places, width]),
            [batch, heads, places, width] if heads == self.heads.count => Some([batch, places, heads * width]),
            _ => None,
        };
        let (&[batch, places, width], Some([b, length, w]), Some([c, values_length, value_width])) =
            (&queries.shape[..], flat(keys), flat(values))
        else {
            return Err(mismatch());
        };
        let element = elementwise::floating(queries.element)?;
        let alike = [keys, values].iter().all(|ty| ty.element == element);
        if !alike || b != batch || c != batch || w != width || length != values_length {
            return Err(mismatch());
        }
        if let Some(bias) = context.optional(OFFSETS)?
            && (bias.element != element || *bias.shape != [2 * width + value_width])
        {
            return Err(InferError::Mismatch(format!("a bias of {bias} does not go with {queries} and {values}")));
        }
        if context.optional(OFFSETS)?.is_some() && (keys.shape.len() != 3 || values.shape.len() != 3) {
            return Err(InferError::Unsupported("a bias of keys that are heads already is not supported".to_owned()));
        }
        let past = context.optional(PASTS[0])?.and_then(|past| past.shape.get(2).copied()).unwrap_or(0);
        let extents = Extents { batch, queries: places, keys: past + length, past, width, value_width };
        self.heads.check(context, &extents, MASK, BIAS)?;
        let pasts = [context.optional(PASTS[0])?, context.optional(PASTS[1])?];
        let fits = match pasts {
            [None, None] => true,
            [Some(keys), Some(values)] => {
                *keys == self.heads.history(element, &extents, past, width)
                    && *values == self.heads.history(element, &extents, past, value_width)
            }
            _ => false,
        };
        if fits {
            Ok(extents)
        } else {
            Err(InferError::Mismatch("the past does not go with keys and values".to_owned()))
        }
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
        let extents = self.extents(context)?;
        let Extents { batch, queries, keys, width, value_width, .. } = extents;
        let element = context.tensor(0)?.element;
        let output = TensorType::new(element, [batch, queries, value_width]);
        let histories = [width, value_width].map(|width| self.heads.history(element, &extents, keys, width));
        if context.outputs() > 3 {
            return Err(InferError::Unsupported("scores as an output are not supported".to_owned()));
        }
        let all = [output].into_iter().chain(histories);
        Ok(all.take(context.outputs().max(1)).map(ValueType::from).collect())
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
        self.heads.lower(program, &extents, parts, PASTS.map(input), [input(MASK), input(BIAS)]).to_vec()
    }
}
