//! `com.microsoft.GroupQueryAttention`: attention over a cache of keys and values, heads of which are shared.

use std::ops::RangeInclusive;

use super::cached_heads::{Cache, History};
use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Scalar};
use crate::ops::dot_product_attention::{Heads, Scoring, Window, WithoutKeys, attend, merge_heads, split_heads};
use crate::ops::gather::Gather;
use crate::ops::microsoft::DOMAIN;
use crate::ops::rotary::{Pairs, rotate};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, broadcast, elementwise, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// Causal attention of queries `[B, S, heads · D]` to keys and values `[B, S, groups · D]` and those of the past, or of
/// all three packed in the first input. The other inputs are the past of keys and values `[B, groups, P, D]`, the last
/// place of every element of the batch, and the constant number of places. Then come the tables of cosines and sines,
/// positions, and what is added to the scores. Outputs are the sums and the extended past of keys and values, which has
/// P places where the number is no constant.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupQueryAttention {
    heads: usize,
    groups: usize,
    scale: Option<f32>,
    softcap: Option<f32>,
    /// How many keys up to its own a query sees, if that is limited.
    window: Option<usize>,
    /// How queries and keys are turned, if they are.
    rotary: Option<Pairs>,
}

const PAST: [usize; 2] = [3, 4];
const LAST: usize = 5;
const TOTAL: usize = 6;
const TABLES: [usize; 2] = [7, 8];
const POSITIONS: usize = 9;
const BIAS: usize = 10;
const MOST_INPUTS: usize = 16;

/// What the shapes say.
struct Extents {
    batch: usize,
    places: usize,
    width: usize,
    packed: bool,
    cache: Cache,
}

impl GroupQueryAttention {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let queries = context.tensor(0)?;
        elementwise::floating(queries.element)?;
        let &[batch, places, all] = &queries.shape[..] else {
            return Err(InferError::Mismatch(format!("{queries} are not [batch, places, width]")));
        };
        let packed = context.optional(1)?.is_none() && context.optional(2)?.is_none();
        let parts = if packed { self.heads + 2 * self.groups } else { self.heads };
        let width = all / parts;
        if all != parts * width || width == 0 || places == 0 {
            return Err(InferError::Mismatch(format!("{queries} do not hold {parts} heads")));
        }
        let own = TensorType::new(queries.element, [batch, places, self.groups * width]);
        if !packed && (*context.tensor(1)? != own || *context.tensor(2)? != own) {
            return Err(InferError::Unsupported(format!("keys and values are not {own}")));
        }
        if let Some(input) = (BIAS + 1..context.inputs()).find(|&input| context.fact(input).is_some()) {
            return Err(InferError::Unsupported(format!("input {input} is not supported")));
        }
        let pasts = [context.optional(PAST[0])?, context.optional(PAST[1])?];
        let past = match pasts {
            [None, None] => 0,
            [Some(keys), Some(values)] if keys == values && keys.shape.len() == 4 => keys.shape[2],
            _ => return Err(InferError::Mismatch("keys and values have different pasts".to_owned())),
        };
        let expected = TensorType::new(queries.element, [batch, self.groups, past, width]);
        if pasts.into_iter().flatten().any(|ty| *ty != expected) {
            return Err(InferError::Mismatch(format!("the past is not {expected}")));
        }
        let last = context.tensor(LAST)?;
        if last.element != ElementType::I32 || last.shape.checked_elements() != Some(batch) {
            return Err(InferError::Mismatch(format!("{last} is not a last place for each of {batch}")));
        }
        let total = context
            .fact(TOTAL)
            .and_then(|fact| fact.value.as_ref())
            .and_then(|value| value.to_i64().first().and_then(|&total| usize::try_from(total).ok()));
        let history = match total {
            Some(total) if total == places => History::None,
            None if past == 0 => {
                return Err(InferError::NotConstant(TOTAL));
            }
            _ => History::Counted,
        };
        let extent = past.max(total.unwrap_or(past));
        if extent < places {
            return Err(InferError::Mismatch(format!("{places} places do not fit into {extent}")));
        }
        let extents = Extents { batch, places, width, packed, cache: Cache { past, extent, history } };
        self.check_others(context, &extents)?;
        Ok(extents)
    }

    /// Checks tables, positions and bias.
    fn check_others(&self, context: &Context, extents: &Extents) -> Result<(), InferError> {
        let element = context.tensor(0)?.element;
        if self.rotary.is_some() {
            let (cosines, sines) = (context.tensor(TABLES[0])?, context.tensor(TABLES[1])?);
            let turned = cosines.shape.last().copied().unwrap_or(0) * 2;
            let fits = cosines == sines && cosines.element == element && cosines.shape.len() == 2;
            if !fits || turned == 0 || turned > extents.width || cosines.shape[0] < extents.cache.extent {
                return Err(InferError::Mismatch(format!(
                    "tables of {cosines} do not turn {} places",
                    extents.cache.extent
                )));
            }
            let positions = context.optional(POSITIONS)?;
            let expected = TensorType::new(ElementType::I64, [extents.batch, extents.places]);
            if positions.is_some_and(|positions| *positions != expected) {
                return Err(InferError::Mismatch(format!("positions are not {expected}")));
            }
        }
        let scores = Shape::from([extents.batch, self.heads, extents.places, extents.cache.extent]);
        match context.optional(BIAS)? {
            Some(ty) if ty.element != element || broadcast::shapes(&ty.shape, &scores).as_ref() != Ok(&scores) => {
                Err(InferError::Mismatch(format!("a bias of {ty} does not broadcast to [{scores}]")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Appends what is added to the scores: −∞ where a query does not see a key, else the bias.
    fn mask(
        &self,
        program: &mut ProgramBuilder,
        extents: &Extents,
        counts: Option<TensorId>,
        bias: Option<TensorId>,
        element: ElementType,
    ) -> TensorId {
        let bias_ty = bias.map(|bias| program.ty(bias).clone());
        let rows: [usize; 2] = std::array::from_fn(|at| match &bias_ty {
            Some(ty) if ty.shape.len() == 4 => ty.shape[at],
            _ => 1,
        });
        let batch = if counts.is_some() { extents.batch } else { rows[0] };
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[batch, rows[1], extents.places, extents.cache.extent]);
        let mut operands = Vec::new();
        let number = |index: Index| Scalar::Index(index, ElementType::I64);
        // The distance from a key to the query.
        let mut distance = number(Index::axis(axes[2]).add(&Index::axis(axes[3]).times(-1)));
        if let Some(counts) = counts {
            let operand = expr.operand(program.ty(counts));
            operands.push(counts);
            distance = distance.binary(BinaryOp::Add, expr.read(operand, vec![Index::axis(axes[0])]));
        }
        let literal = |value: i64| Scalar::Literal(Literal::integer(ElementType::I64, value));
        let mut is_seen = literal(0).binary(BinaryOp::LessEqual, distance.clone());
        if let Some(window) = self.window {
            is_seen = is_seen.binary(BinaryOp::And, distance.binary(BinaryOp::Less, literal(window as i64)));
        }
        let added = match bias {
            None => Scalar::literal(element, 0.0),
            Some(bias) => {
                let operand = expr.operand(program.ty(bias));
                operands.push(bias);
                expr.broadcast_read(operand, &axes)
            }
        };
        let body = is_seen.select(added, Scalar::Literal(Literal::lowest(element)));
        program.compute(expr.map(element, body), &operands)
    }

    /// Appends the rows of the tables for every place: `[batch or 1, places, half]` each.
    fn turns(
        &self,
        program: &mut ProgramBuilder,
        inputs: &[Option<TensorId>],
        extents: &Extents,
        counts: Option<TensorId>,
    ) -> [TensorId; 2] {
        let input = |at: usize| inputs.get(at).copied().flatten();
        let positions = input(POSITIONS).unwrap_or_else(|| {
            let mut expr = ExprBuilder::new();
            let batch = if counts.is_some() { extents.batch } else { 1 };
            let axes = expr.parallels(&[batch, extents.places]);
            let mut place = Scalar::Index(Index::axis(axes[1]), ElementType::I64);
            if let Some(counts) = counts {
                let operand = expr.operand(program.ty(counts));
                place = place.binary(BinaryOp::Add, expr.read(operand, vec![Index::axis(axes[0])]));
            }
            let operands: Vec<TensorId> = counts.into_iter().collect();
            program.compute(expr.map(ElementType::I64, place), &operands)
        });
        TABLES.map(|table| program.apply(&Gather::along(0), &[input(table), Some(positions)], 1)[0])
    }
}

impl Operator for GroupQueryAttention {
    const NAME: &'static str = "GroupQueryAttention";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 7..=MOST_INPUTS;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let wrong = |name: &'static str, reason: String| AttributeError::Value { name, reason };
        let mut count = |name: &'static str| {
            let count = attributes.int(name)?.ok_or(AttributeError::Missing(name))?;
            let valid = usize::try_from(count).ok().filter(|&count| count > 0 && count < 1 << 16);
            valid.ok_or_else(|| wrong(name, format!("{count} heads are not possible")))
        };
        let (heads, groups) = (count("num_heads")?, count("kv_num_heads")?);
        if !heads.is_multiple_of(groups) {
            return Err(wrong("kv_num_heads", format!("{groups} heads of keys do not divide {heads}")));
        }
        for name in ["smooth_softmax", "qk_output", "kv_cache_bit_width"] {
            if attributes.int(name)?.is_some_and(|value| value > 0) {
                return Err(wrong(name, "only 0 is supported".to_owned()));
            }
        }
        for name in ["k_quant_type", "v_quant_type"] {
            if attributes.string(name)?.is_some_and(|value| value != "NONE") {
                return Err(wrong(name, "only NONE is supported".to_owned()));
            }
        }
        let window = attributes.int("local_window_size")?.and_then(|window| usize::try_from(window).ok());
        let pairs = match attributes.flag("rotary_interleaved")? {
            Some(true) => Pairs::Interleaved,
            Some(false) | None => Pairs::Halves,
        };
        Ok(Self {
            heads,
            groups,
            scale: attributes.float("scale")?.filter(|&scale| scale != 0.0),
            softcap: attributes.float("softcap")?.filter(|&bound| bound != 0.0),
            window: window.filter(|&window| window > 0),
            rotary: attributes.flag("do_rotary")?.unwrap_or(false).then_some(pairs),
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let number = |value: usize| Attribute::Int(value as i64);
        let rotary = self.rotary.map(|pairs| {
            [("do_rotary", Attribute::Int(1)), ("rotary_interleaved", number(usize::from(pairs == Pairs::Interleaved)))]
        });
        let heads = [("num_heads", number(self.heads)), ("kv_num_heads", number(self.groups))];
        let floats = [("scale", self.scale), ("softcap", self.softcap)];
        let floats = floats.into_iter().filter_map(|(name, value)| Some((name, Attribute::Float(value?))));
        let window = self.window.map(|window| ("local_window_size", number(window)));
        heads.into_iter().chain(floats).chain(window).chain(rotary.into_iter().flatten()).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Extents { batch, places, width, cache, .. } = self.extents(context)?;
        let element = context.tensor(0)?.element;
        let output = TensorType::new(element, [batch, places, self.heads * width]);
        let present = TensorType::new(element, [batch, self.groups, cache.extent, width]);
        let all = [output, present.clone(), present];
        if context.outputs() > all.len() {
            return Err(InferError::Unsupported("scores as an output are not supported".to_owned()));
        }
        Ok(all.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let Extents { batch, places, width, packed, cache } = &extents;
        let element = context.accepted(0).element;
        let input = |at: usize| inputs.get(at).copied().flatten();
        let first = input(0).expect("inference found the queries");
        let counts = [self.heads, self.groups, self.groups];
        let mut start = 0;
        let parts = [0, 1, 2].map(|at| {
            let part = match packed {
                true => {
                    let extent = counts[at] * width;
                    start += extent;
                    movement::slice(
                        program,
                        first,
                        &[0, 0, (start - extent) as i64],
                        &[1; 3],
                        &[*batch, *places, extent],
                    )
                }
                false => input(at).expect("inference found keys and values"),
            };
            split_heads(program, part, counts[at])
        });
        let [mut queries, mut keys, values] = parts;
        let counts = cache.counts(program, input(LAST).expect("inference found the last places"), *places);
        if let Some(pairs) = self.rotary {
            let [cosines, sines] = self.turns(program, inputs, &extents, counts);
            let turned = 2 * program.ty(cosines).shape[2];
            [queries, keys] = [queries, keys].map(|part| rotate(program, part, (cosines, sines), turned, pairs));
        }
        let keys = cache.extended(program, keys, input(PAST[0]), counts);
        let values = cache.extended(program, values, input(PAST[1]), counts);
        let mask = self.mask(program, &extents, counts, input(BIAS), element);
        let scoring = Scoring {
            scale: self.scale.unwrap_or(1.0 / (*width as f32).sqrt()),
            softcap: self.softcap,
            mask: Some(mask),
            window: Window::default(),
            lengths: None,
            without_keys: WithoutKeys::NotANumber,
            precision: ElementType::F32,
        };
        let output = attend(program, Heads { queries, keys, values }, &scoring).output;
        vec![merge_heads(program, output), keys, values]
    }
}
