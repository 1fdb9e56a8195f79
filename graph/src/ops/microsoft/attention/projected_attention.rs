//! `com.microsoft.Attention`: self-attention with its projection.

use std::ops::RangeInclusive;

use super::heads::{Extents, Heads};
use crate::ops::add::Add;
use crate::ops::matmul::MatMul;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// Queries, keys and values, which are one product of the input with a weight, plus a bias; then attention of their
/// heads. The inputs are:
/// - the input `[batch, places, width]`, the weight and the bias;
/// - a mask `[batch]` or `[batch, keys]`;
/// - the past of keys and of values `[2, batch, heads, past, width / heads]`;
/// - what is added to the scores.
///
/// The second output is the past with the new keys and values behind it.
#[derive(Clone, PartialEq, Debug)]
pub struct ProjectedAttention {
    heads: Heads,
    /// The widths of queries, keys and values; thirds of the weight's columns where they are not given.
    widths: Option<Vec<i64>>,
}

const MASK: usize = 3;
const PAST: usize = 4;
const BIAS: usize = 5;

impl ProjectedAttention {
    /// The type of the past of keys and values together.
    fn history(&self, element: ElementType, extents: &Extents, places: usize) -> TensorType {
        let single = self.heads.history(element, extents, places, extents.width);
        TensorType { shape: [2].into_iter().chain(single.shape.iter().copied()).collect(), ..single }
    }

    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let (data, weight) = (context.tensor(0)?, context.tensor(1)?);
        let mismatch = || InferError::Mismatch(format!("{data} and {weight} make no queries, keys and values"));
        let ([batch, places, width], [rows, columns]) = (&data.shape[..], &weight.shape[..]) else {
            return Err(mismatch());
        };
        let element = elementwise::floating(data.element)?;
        if weight.element != element || rows != width {
            return Err(mismatch());
        }
        if context.fact(6).is_some() {
            return Err(InferError::Unsupported("a past in a shared buffer is not supported".to_owned()));
        }
        if let Some(bias) = context.optional(2)?
            && (*bias.shape != [*columns] || bias.element != data.element)
        {
            return Err(InferError::Mismatch(format!("a bias of {bias} does not go with {columns} columns")));
        }
        let widths = match &self.widths {
            None => [columns / 3; 3],
            Some(widths) => {
                let widths: Option<Vec<usize>> = widths.iter().map(|&width| usize::try_from(width).ok()).collect();
                widths.and_then(|widths| widths.try_into().ok()).ok_or_else(mismatch)?
            }
        };
        let sum = widths.iter().try_fold(0usize, |sum, &width| sum.checked_add(width));
        if sum != Some(*columns) || widths[0] != widths[1] {
            return Err(mismatch());
        }
        let [width, _, value_width] = widths;
        let past = context.optional(PAST)?;
        let before = past.and_then(|past| past.shape.get(3).copied()).unwrap_or(0);
        let extents =
            Extents { batch: *batch, queries: *places, keys: before + *places, past: before, width, value_width };
        let history = self.history(element, &extents, before);
        if past.is_some_and(|past| *past != history || width != value_width) {
            return Err(InferError::Mismatch(format!("the past is not {history}")));
        }
        self.heads.check(context, &extents, MASK, BIAS)?;
        Ok(extents)
    }
}

impl Operator for ProjectedAttention {
    const NAME: &'static str = "Attention";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=7;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        for name in ["do_rotary", "past_present_share_buffer"] {
            if attributes.flag(name)? == Some(true) {
                return Err(AttributeError::Value { name, reason: "only 0 is supported".to_owned() });
            }
        }
        attributes.int("rotary_embedding_dim")?;
        Ok(Self { heads: Heads::from_attributes(attributes)?, widths: attributes.ints("qkv_hidden_sizes")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let widths = self.widths.clone().map(|widths| ("qkv_hidden_sizes", Attribute::Ints(widths)));
        self.heads.attributes().into_iter().chain(widths).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = self.extents(context)?;
        let Extents { batch, queries, keys, width, value_width, .. } = extents;
        if context.outputs() > 1 && width != value_width {
            return Err(InferError::Unsupported("a past of keys and values of two widths is not supported".to_owned()));
        }
        let element = context.tensor(0)?.element;
        let output = TensorType::new(element, [batch, queries, value_width]);
        let all = [output, self.history(element, &extents, keys)];
        Ok(all.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let input = |at: usize| inputs.get(at).copied().flatten();
        let mut projected = program.apply(&MatMul, &inputs[..2], 1)[0];
        if let Some(bias) = input(2) {
            projected = program.apply(&Add, &[Some(projected), Some(bias)], 1)[0];
        }
        let parts = [(0, extents.width), (extents.width, extents.width), (2 * extents.width, extents.value_width)];
        let parts = parts.map(|(start, width)| {
            let shape = [extents.batch, extents.queries, width];
            movement::slice(program, projected, &[0, 0, start as i64], &[1; 3], &shape)
        });
        let element = context.accepted(0).element;
        let history = self.heads.history(element, &extents, extents.past, extents.width).shape;
        let pasts = [0, 1].map(|at: i64| {
            let past = input(PAST)?;
            let whole: Vec<usize> = [1].into_iter().chain(history.iter().copied()).collect();
            let part = movement::slice(program, past, &[at, 0, 0, 0, 0], &[1; 5], &whole);
            Some(movement::reshape(program, part, &history))
        });
        let [output, keys, values] = self.heads.lower(program, &extents, parts, pasts, [input(MASK), input(BIAS)]);
        if context.outputs() < 2 {
            return vec![output];
        }
        let single = self.heads.history(element, &extents, extents.keys, extents.width).shape;
        let stacked: Shape = [1].into_iter().chain(single.iter().copied()).collect();
        let parts = [keys, values].map(|part| movement::reshape(program, part, &stacked));
        vec![output, program.concat(0, &parts)]
    }
}
