//! Attention of heads side by side, as the operators of the domain have it.

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::ops::dot_product_attention::{self, Scoring, Window, WithoutKeys, attend, merge_heads, split_heads};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, broadcast, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// What attention is made with.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Heads {
    pub(super) count: usize,
    /// What products of queries and keys are multiplied by; one over the root of a head's extent where it is not given.
    scale: Option<f32>,
    /// Whether a query sees no key after its own place.
    is_causal: bool,
    /// What is added where a mask hides a key.
    hidden: f32,
}

/// Batch, queries, keys with those of the past, the past's places, and the extent of all heads of queries and keys, and of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extents {
    pub(super) batch: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) past: usize,
    pub(super) width: usize,
    pub(super) value_width: usize,
}

const LARGEST_HALF: f32 = 65504.0;

impl Heads {
    pub(super) fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "num_heads";
        let count = attributes.int(name)?.ok_or(AttributeError::Missing(name))?;
        let reason = || format!("{count} heads are not possible");
        let count = usize::try_from(count).ok().filter(|&count| count > 0);
        Ok(Self {
            count: count.ok_or_else(|| AttributeError::Value { name, reason: reason() })?,
            scale: attributes.float("scale")?.filter(|&scale| scale != 0.0),
            is_causal: attributes.flag("unidirectional")?.unwrap_or(false),
            hidden: attributes.float("mask_filter_value")?.unwrap_or(-10_000.0),
        })
    }

    pub(super) fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let scale = self.scale.map(|scale| ("scale", Attribute::Float(scale)));
        let others = [
            ("num_heads", Attribute::Int(self.count as i64)),
            ("unidirectional", Attribute::Int(i64::from(self.is_causal))),
            ("mask_filter_value", Attribute::Float(self.hidden)),
        ];
        others.into_iter().chain(scale).collect()
    }

    /// Checks that widths are whole heads, and mask and bias, inputs of these numbers, go with the extents.
    pub(super) fn check(
        &self,
        context: &Context,
        extents: &Extents,
        mask: usize,
        bias: usize,
    ) -> Result<(), InferError> {
        let Extents { batch, queries, keys, past, width, value_width } = *extents;
        if !width.is_multiple_of(self.count) || !value_width.is_multiple_of(self.count) || width == 0 {
            return Err(InferError::Mismatch(format!("{} heads do not divide {width} and {value_width}", self.count)));
        }
        if self.is_causal && queries + past != keys {
            return Err(InferError::Unsupported(format!("{queries} queries and {keys} keys are not causal")));
        }
        let masks: [&[usize]; 4] = [&[batch], &[2 * batch], &[batch, keys], &[batch, queries, keys]];
        if let Some(mask) = context.optional(mask)?
            && (mask.element != ElementType::I32 || !masks.contains(&&mask.shape[..]))
        {
            return Err(InferError::Unsupported(format!(
                "a mask of {mask} is not supported for {batch} × {keys} keys"
            )));
        }
        let scores = Shape::from([batch, self.count, queries, keys]);
        let element = context.tensor(0)?.element;
        match context.optional(bias)? {
            Some(ty) if ty.element != element || broadcast::shapes(&ty.shape, &scores).as_ref() != Ok(&scores) => {
                Err(InferError::Mismatch(format!("a bias of {ty} does not broadcast to [{scores}]")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The type of a past of `places` of keys or values, `[batch, heads, places, width / heads]`.
    pub(super) fn history(&self, element: ElementType, extents: &Extents, places: usize, width: usize) -> TensorType {
        TensorType::new(element, [extents.batch, self.count, places, width / self.count])
    }

    /// Appends the attention of queries, keys and values of shape `[batch, places, width]`, keys and values behind
    /// those of the past. The results are the output, and all keys and values of each head.
    pub(super) fn lower(
        &self,
        program: &mut ProgramBuilder,
        extents: &Extents,
        [queries, keys, values]: [TensorId; 3],
        pasts: [Option<TensorId>; 2],
        [mask, bias]: [Option<TensorId>; 2],
    ) -> [TensorId; 3] {
        let element = program.ty(queries).element;
        let mask = mask.map(|mask| self.mask(program, extents, mask, element));
        let mask = match (mask, bias) {
            (Some(mask), Some(bias)) => {
                Some(compose::map(program, [mask, bias], element, |[mask, bias]| mask.binary(BinaryOp::Add, bias)))
            }
            (mask, bias) => mask.or(bias),
        };
        let scoring = Scoring {
            scale: self.scale.unwrap_or(1.0 / ((extents.width / self.count) as f32).sqrt()),
            softcap: None,
            mask,
            window: if self.is_causal { Window::causal(extents.past) } else { Window::default() },
            lengths: None,
            without_keys: WithoutKeys::NotANumber,
            precision: if element == ElementType::F64 { element } else { ElementType::F32 },
        };
        let [queries, keys, values] = [queries, keys, values].map(|part| match program.ty(part).shape.len() {
            3 => split_heads(program, part, self.count),
            _ => part,
        });
        let [keys, values] = [(keys, pasts[0]), (values, pasts[1])].map(|(part, past)| match past {
            Some(past) => program.concat(2, &[past, part]),
            None => part,
        });
        let output = attend(program, dot_product_attention::Heads { queries, keys, values }, &scoring).output;
        [merge_heads(program, output), keys, values]
    }

    /// What a mask adds: of lengths `[batch]`, of ends and then of starts `[2 · batch]`, or of truth values `[batch, keys]` or
    /// `[batch, queries, keys]`.
    fn mask(&self, program: &mut ProgramBuilder, extents: &Extents, mask: TensorId, element: ElementType) -> TensorId {
        let ty: TensorType = program.ty(mask).clone();
        let mut expr = ExprBuilder::new();
        let queries = if ty.shape.len() == 3 { extents.queries } else { 1 };
        let axes = expr.parallels(&[extents.batch, 1, queries, extents.keys]);
        let operand = expr.operand(&ty);
        let [batch, query, key] = [axes[0], axes[2], axes[3]].map(Index::axis);
        let is_seen = match ty.shape.len() {
            1 => {
                let place = || Scalar::Index(key.clone(), ElementType::I32);
                let is_before = place().binary(BinaryOp::Less, expr.read(operand, vec![batch.clone()]));
                match *ty.shape == [extents.batch] {
                    true => is_before,
                    false => {
                        let start = expr.read(operand, vec![batch.plus(extents.batch as i64)]);
                        let is_cut = place().binary(BinaryOp::Less, start);
                        is_before.binary(BinaryOp::And, is_cut.unary(UnaryOp::Not))
                    }
                }
            }
            rank => {
                let index = if rank == 3 { vec![batch, query, key] } else { vec![batch, key] };
                Scalar::literal(ElementType::I32, 0.0).binary(BinaryOp::Less, expr.read(operand, index))
            }
        };
        // What hides a key is finite, so that there are weights where all keys are hidden.
        let hidden = if element == ElementType::F16 { self.hidden.max(-LARGEST_HALF) } else { self.hidden };
        let literal = |value: f32| Scalar::literal(element, f64::from(value));
        let body = is_seen.select(literal(0.0), literal(hidden));
        program.compute(expr.map(element, body), &[mask])
    }
}
