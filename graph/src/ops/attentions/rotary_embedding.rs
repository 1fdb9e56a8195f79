//! `RotaryEmbedding`: pairs of elements turned by angles that depend on their position.

use std::ops::RangeInclusive;

use crate::ops::dot_product_attention::{merge_heads, split_heads};
use crate::ops::gather::Gather;
use crate::ops::rotary::{Pairs, rotate};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise, indices,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, ValueType};

/// Every head of `[N, heads, length, width]` or `[N, length, heads · width]` with its first elements turned in pairs. The
/// cosines and sines are given a position, which the fourth input names, or else an element of the sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RotaryEmbedding {
    pairs: Pairs,
    heads: usize,
    /// How many elements of a head are turned; all if 0.
    turned: usize,
}

/// The extents of an input.
struct Extents {
    heads: usize,
    turned: usize,
    merged: bool,
}

impl RotaryEmbedding {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let (data, cosines, sines) = (context.tensor(0)?, context.tensor(1)?, context.tensor(2)?);
        elementwise::floating(data.element)?;
        let (heads, width, length) = match *data.shape {
            [_, heads, length, width] => (heads, width, length),
            [_, length, width] if self.heads > 0 && width % self.heads == 0 => (self.heads, width / self.heads, length),
            _ => {
                let reason = format!("{data} has no heads, of which {} are named", self.heads);
                return Err(InferError::Mismatch(reason));
            }
        };
        let turned = if self.turned == 0 { width } else { self.turned };
        let mismatch = || {
            InferError::Mismatch(format!("cosines {cosines} and sines {sines} do not turn {turned} elements of {data}"))
        };
        let alike = cosines == sines && cosines.element == data.element;
        if !alike || turned > width || turned % 2 != 0 || cosines.shape.last() != Some(&(turned / 2)) {
            return Err(mismatch());
        }
        let sequence: Shape = [data.shape[0], length].into();
        match context.optional(3)? {
            Some(positions) if positions.shape != sequence || cosines.shape.len() != 2 => return Err(mismatch()),
            Some(_) => indices::accept(context, 3, cosines.shape[0])?,
            None if cosines.shape[..cosines.shape.len() - 1] != *sequence => return Err(mismatch()),
            None => {}
        }
        Ok(Extents { heads, turned, merged: data.shape.len() == 3 })
    }
}

impl Operator for RotaryEmbedding {
    const NAME: &'static str = "RotaryEmbedding";
    const OPSETS: RangeInclusive<i64> = 23..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let interleaved = attributes.flag("interleaved")?.unwrap_or(false);
        let mut count = |name: &'static str| {
            let value = attributes.int(name)?.unwrap_or(0);
            let reason = || format!("{value} is no possible number");
            usize::try_from(value).map_err(|_| AttributeError::Value { name, reason: reason() })
        };
        let pairs = if interleaved { Pairs::Interleaved } else { Pairs::Halves };
        Ok(Self { pairs, heads: count("num_heads")?, turned: count("rotary_embedding_dim")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("interleaved", Attribute::Int(i64::from(self.pairs == Pairs::Interleaved))),
            ("num_heads", Attribute::Int(self.heads as i64)),
            ("rotary_embedding_dim", Attribute::Int(self.turned as i64)),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.extents(context)?;
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the shapes");
        let [data, cosines, sines] = [0, 1, 2].map(|input| inputs[input].expect("inference found the inputs"));
        let positions = inputs.get(3).copied().flatten();
        let [cosines, sines] = [cosines, sines].map(|table| match positions {
            Some(_) => program.apply(&Gather::along(0), &[Some(table), positions], 1)[0],
            None => table,
        });
        let split = if extents.merged { split_heads(program, data, extents.heads) } else { data };
        let rotated = rotate(program, split, (cosines, sines), extents.turned, self.pairs);
        vec![if extents.merged { merge_heads(program, rotated) } else { rotated }]
    }
}
