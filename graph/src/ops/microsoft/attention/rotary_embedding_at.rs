//! `com.microsoft.RotaryEmbedding`: pairs of elements turned by the angle of their position.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::dot_product_attention::{merge_heads, split_heads};
use crate::ops::gather::Gather;
use crate::ops::microsoft::DOMAIN;
use crate::ops::rotary::{Pairs, rotate};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Of each head, the first elements turned in pairs: each with its neighbour, or with the one half of them further on.
/// The inputs are:
/// - the data `[batch, places, heads · width]` or `[batch, heads, places, width]`;
/// - the positions, which are the first one or one a place;
/// - the tables of cosines and sines, a row a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RotaryEmbeddingAt {
    interleaved: bool,
    heads: Option<usize>,
    turned: Option<usize>,
}

/// What the shapes say.
struct Extents {
    places: usize,
    heads: usize,
    /// Half of the elements that are turned.
    half: usize,
}

impl RotaryEmbeddingAt {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let (data, cosines, sines) = (context.tensor(0)?, context.tensor(2)?, context.tensor(3)?);
        elementwise::floating(data.element)?;
        let mismatch = || InferError::Mismatch(format!("{data} is not turned by tables of {cosines} and {sines}"));
        let &[_, half] = &cosines.shape[..] else { return Err(mismatch()) };
        let (batch, places, heads, width) = match data.shape[..] {
            [batch, places, all] => {
                let width = match (self.turned, self.heads) {
                    (Some(_), Some(heads)) => all / heads,
                    _ => 2 * half,
                };
                (batch, places, all.checked_div(width).ok_or_else(mismatch)?, width)
            }
            [batch, heads, places, width] => (batch, places, heads, width),
            _ => return Err(mismatch()),
        };
        let whole = data.shape.len() == 4 || data.shape[2] == heads * width;
        let tables = cosines == sines && cosines.element == data.element;
        if !whole || !tables || half == 0 || 2 * half > width || self.turned.is_some_and(|turned| turned != 2 * half) {
            return Err(mismatch());
        }
        let extents = Extents { places, heads, half };
        let positions = context.tensor(1)?;
        if positions.element != ElementType::I64 || (*positions.shape != [1] && *positions.shape != [batch, places]) {
            return Err(InferError::Mismatch(format!("positions of {positions} do not go with {data}")));
        }
        if *positions.shape != [1] {
            Gather::along(0).infer(&Context::new(&[context.fact(2).cloned(), context.fact(1).cloned()], 1))?;
        } else {
            let ty = TensorType::new(ElementType::I64, [1, places]);
            let known = Some(Fact { ty: ty.into(), value: None });
            Gather::along(0).infer(&Context::new(&[context.fact(2).cloned(), known], 1))?;
        }
        Ok(extents)
    }

    /// Positions `[batch or 1, places]`.
    fn positions(program: &mut ProgramBuilder, positions: TensorId, extents: &Extents) -> TensorId {
        let ty = program.ty(positions).clone();
        if ty.shape.len() == 2 {
            return positions;
        }
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[1, extents.places]);
        let operand = expr.operand(&ty);
        let first = expr.read(operand, vec![Index::constant(0)]);
        let body = first.binary(BinaryOp::Add, Scalar::Index(Index::axis(axes[1]), ElementType::I64));
        program.compute(expr.map(ElementType::I64, body), &[positions])
    }
}

impl Operator for RotaryEmbeddingAt {
    const NAME: &'static str = "RotaryEmbedding";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 4..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        if attributes.flag("is_packed_batching")? == Some(true) {
            let reason = "only 0 is supported".to_owned();
            return Err(AttributeError::Value { name: "is_packed_batching", reason });
        }
        if attributes.float("scale")?.is_some_and(|scale| scale != 1.0) {
            return Err(AttributeError::Value { name: "scale", reason: "only 1 is supported".to_owned() });
        }
        let interleaved = attributes.flag("interleaved")?.unwrap_or(false);
        let mut positive = |name| {
            let value = attributes.int(name)?;
            Ok(value.and_then(|value| usize::try_from(value).ok()).filter(|&value| value > 0))
        };
        Ok(Self { interleaved, heads: positive("num_heads")?, turned: positive("rotary_embedding_dim")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let number = |value: Option<usize>| Attribute::Int(value.unwrap_or(0) as i64);
        vec![
            ("interleaved", Attribute::Int(i64::from(self.interleaved))),
            ("num_heads", number(self.heads)),
            ("rotary_embedding_dim", number(self.turned)),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.extents(context)?;
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let data = inputs[0].expect("inference found the data");
        let positions = Self::positions(program, inputs[1].expect("inference found the positions"), &extents);
        let [cosines, sines] =
            [2, 3].map(|table: usize| program.apply(&Gather::along(0), &[inputs[table], Some(positions)], 1)[0]);
        let pairs = if self.interleaved { Pairs::Interleaved } else { Pairs::Halves };
        if context.accepted(0).shape.len() == 4 {
            return vec![rotate(program, data, (cosines, sines), 2 * extents.half, pairs)];
        }
        let heads = split_heads(program, data, extents.heads);
        let turned = rotate(program, heads, (cosines, sines), 2 * extents.half, pairs);
        vec![merge_heads(program, turned)]
    }
}
