//! `Attention`: scaled dot-product attention.

use std::ops::RangeInclusive;

use crate::ops::cast::{element_number, element_type};
use crate::ops::dot_product_attention::{
    Heads, Origin, Scoring, Window, WithoutKeys, attend, merge_heads, split_heads,
};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, broadcast, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// Attention of queries over keys and values, each `[N, heads, length, width]` or `[N, length, heads · width]`. It
/// may have a mask, the keys and values of earlier steps before these, or the number of valid keys of each element of
/// the batch. That number aligns causal masks and windows: the last query has the position of the last valid key. A
/// query whose keys are all masked gives 0. The outputs are the sums, all keys, all values, and the scores at one of
/// four moments.
#[derive(Clone, PartialEq, Debug)]
pub struct Attention {
    scale: Option<f32>,
    causal: bool,
    /// The most keys before and after a query's position that it attends to; `None` for no limit.
    window: [Option<usize>; 2],
    query_heads: Option<usize>,
    key_heads: Option<usize>,
    softcap: Option<f32>,
    precision: Option<ElementType>,
    scores: Scores,
}

/// Windows of this size or more are no limit: no tensor has as many keys.
const FARTHEST: usize = 1 << 40;

/// The moment at which the scores are the fourth output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scores {
    /// The scaled products.
    Products,
    /// The bounded products.
    Bounded,
    /// What the softmax is applied to.
    Masked,
    /// The softmax.
    Weights,
}

impl Scores {
    const ALL: [Self; 4] = [Self::Products, Self::Bounded, Self::Masked, Self::Weights];
}

/// The extents of an attention.
#[derive(Clone, Copy, Debug)]
struct Extents {
    batch: usize,
    query_heads: usize,
    key_heads: usize,
    length: usize,
    past: usize,
    total: usize,
    width: usize,
    value_width: usize,
    /// Whether heads and width are one dimension.
    merged: bool,
}

/// Heads, length and width of an operand.
fn split(ty: &TensorType, heads: Option<usize>) -> Option<[usize; 3]> {
    match (&*ty.shape, heads) {
        (&[_, heads, length, width], _) => Some([heads, length, width]),
        (&[_, length, width], Some(heads)) if heads > 0 && width % heads == 0 => Some([heads, length, width / heads]),
        _ => None,
    }
}

impl Attention {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let [queries, keys, values] = [context.tensor(0)?, context.tensor(1)?, context.tensor(2)?];
        let mismatch =
            || InferError::Mismatch(format!("queries {queries}, keys {keys} and values {values} do not go together"));
        elementwise::floating(queries.element)?;
        let rank = queries.shape.len();
        let alike = [keys, values].iter().all(|ty| ty.shape.len() == rank && ty.element == queries.element);
        let [query_heads, length, width] = split(queries, self.query_heads).ok_or_else(mismatch)?;
        let [key_heads, own, key_width] = split(keys, self.key_heads).ok_or_else(mismatch)?;
        let [value_heads, value_length, value_width] = split(values, self.key_heads).ok_or_else(mismatch)?;
        let batch = queries.shape[0];
        let fits = alike && width == key_width && key_heads == value_heads && own == value_length;
        let same_batch = keys.shape[0] == batch && values.shape[0] == batch;
        if !fits || !same_batch || key_heads == 0 || query_heads % key_heads != 0 {
            return Err(mismatch());
        }
        let past = match (context.optional(4)?, context.optional(5)?) {
            (None, None) => 0,
            (Some(past_keys), Some(past_values)) => {
                let past = past_keys.shape.get(2).copied().unwrap_or(0);
                let expected = |width| TensorType::new(queries.element, [batch, key_heads, past, width]);
                if *past_keys != expected(width) || *past_values != expected(value_width) {
                    let reason = format!("past keys {past_keys} and values {past_values} do not go with {keys}");
                    return Err(InferError::Mismatch(reason));
                }
                past
            }
            _ => return Err(InferError::Mismatch("past keys and past values go together".to_owned())),
        };
        let total = past + own;
        let merged = rank == 3;
        let extents = Extents { batch, query_heads, key_heads, length, past, total, width, value_width, merged };
        Self::check_mask(context, &extents)?;
        Ok(extents)
    }

    fn window(&self, past: usize, lengths: Option<TensorId>) -> Window {
        let [before, behind] = self.window;
        let origin = if lengths.is_some() { Origin::LastAtLength } else { Origin::Behind(past) };
        Window { origin, before, behind: if self.causal { Some(0) } else { behind } }
    }

    fn check_mask(context: &Context, extents: &Extents) -> Result<(), InferError> {
        let element = context.tensor(0)?.element;
        if let Some(mask) = context.optional(3)? {
            let full: Shape = [extents.batch, extents.query_heads, extents.length, extents.total].into();
            let mut covered = mask.shape.to_vec();
            if let Some(last) = covered.last_mut().filter(|last| **last > 1 && **last < extents.total) {
                *last = extents.total;
            }
            let fits = covered.len() <= 4 && broadcast::shapes(&covered.into(), &full)? == full;
            if !fits || (mask.element != element && mask.element != ElementType::Bool) {
                return Err(InferError::Mismatch(format!("the mask {mask} does not go with scores {full}")));
            }
        }
        match context.optional(6)? {
            Some(lengths) if *lengths.shape != [extents.batch] || lengths.element != ElementType::I64 => {
                Err(InferError::Mismatch(format!("{lengths} is not a number of keys an element of the batch")))
            }
            Some(_) if extents.past > 0 => {
                Err(InferError::Mismatch("numbers of keys do not go with past keys".to_owned()))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Operator for Attention {
    const NAME: &'static str = "Attention";
    const OPSETS: RangeInclusive<i64> = 23..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=7;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let heads = |name: &'static str, value: Option<i64>| match value {
            None | Some(0) => Ok(None),
            Some(count @ 1..=0x7fff_ffff) => Ok(Some(count as usize)),
            Some(other) => Err(AttributeError::Value { name, reason: format!("{other} heads are not possible") }),
        };
        let precision = match attributes.int("softmax_precision")? {
            None | Some(0) => None,
            Some(number) => {
                let found = element_type(number).filter(|element| element.is_float() && !element.is_storage());
                let reason = || format!("element type {number} is no floating point");
                Some(found.ok_or_else(|| AttributeError::Value { name: "softmax_precision", reason: reason() })?)
            }
        };
        let reach = |name: &'static str, value: Option<i64>| match value {
            None | Some(-1) => Ok(None),
            Some(keys @ 0..) => Ok(usize::try_from(keys).ok().filter(|keys| *keys < FARTHEST)),
            Some(other) => {
                Err(AttributeError::Value { name, reason: format!("{other} is neither -1 nor a number of keys") })
            }
        };
        let mode = attributes.int("qk_matmul_output_mode")?.unwrap_or(0);
        let scores = usize::try_from(mode).ok().and_then(|mode| Scores::ALL.get(mode).copied());
        Ok(Self {
            scale: attributes.float("scale")?,
            causal: attributes.flag("is_causal")?.unwrap_or(false),
            window: [
                reach("left_window_size", attributes.int("left_window_size")?)?,
                reach("right_window_size", attributes.int("right_window_size")?)?,
            ],
            query_heads: heads("q_num_heads", attributes.int("q_num_heads")?)?,
            key_heads: heads("kv_num_heads", attributes.int("kv_num_heads")?)?,
            softcap: attributes.float("softcap")?.filter(|bound| *bound > 0.0),
            precision,
            scores: scores.ok_or_else(|| AttributeError::Value {
                name: "qk_matmul_output_mode",
                reason: format!("{mode} is none of 0 to 3"),
            })?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mode = Scores::ALL.iter().position(|scores| *scores == self.scores).unwrap_or(0) as i64;
        let count = |count: usize| Attribute::Int(count as i64);
        let optional = [
            ("scale", self.scale.map(Attribute::Float)),
            ("softcap", self.softcap.map(Attribute::Float)),
            ("left_window_size", self.window[0].map(count)),
            ("right_window_size", self.window[1].map(count)),
            ("q_num_heads", self.query_heads.map(count)),
            ("kv_num_heads", self.key_heads.map(count)),
            ("softmax_precision", self.precision.map(|element| Attribute::Int(element_number(element)))),
        ];
        let given = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let always =
            [("is_causal", Attribute::Int(i64::from(self.causal))), ("qk_matmul_output_mode", Attribute::Int(mode))];
        given.chain(always).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Extents { batch, query_heads, key_heads, length, total, width, value_width, merged, .. } =
            self.extents(context)?;
        let element = context.tensor(0)?.element;
        let of = |extents: &[usize]| ValueType::from(TensorType::new(element, extents));
        let output = match merged {
            true => of(&[batch, length, query_heads * value_width]),
            false => of(&[batch, query_heads, length, value_width]),
        };
        let keys = of(&[batch, key_heads, total, width]);
        let values = of(&[batch, key_heads, total, value_width]);
        Ok(vec![output, keys, values, of(&[batch, query_heads, length, total])])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the shapes");
        let heads = [extents.query_heads, extents.key_heads, extents.key_heads];
        let mut operand = |input: usize| {
            let given = inputs[input].expect("inference found the inputs");
            let split = if extents.merged { split_heads(program, given, heads[input]) } else { given };
            match inputs.get(input + 3).copied().flatten() {
                Some(past) if input > 0 && extents.past > 0 => program.concat(2, &[past, split]),
                _ => split,
            }
        };
        let heads = Heads { queries: operand(0), keys: operand(1), values: operand(2) };
        let element = context.accepted(0).element;
        let lengths = inputs.get(6).copied().flatten();
        let scoring = Scoring {
            scale: self.scale.unwrap_or(1.0 / (extents.width.max(1) as f32).sqrt()),
            softcap: self.softcap,
            mask: inputs.get(3).copied().flatten(),
            window: self.window(extents.past, lengths),
            lengths,
            without_keys: WithoutKeys::Zero,
            precision: self.precision.unwrap_or(element),
        };
        let attended = attend(program, heads, &scoring);
        let output = if extents.merged { merge_heads(program, attended.output) } else { attended.output };
        let scores = match self.scores {
            Scores::Products => attended.products,
            Scores::Bounded => attended.bounded,
            Scores::Masked => attended.masked,
            Scores::Weights => attended.weights,
        };
        vec![output, heads.keys, heads.values, scores]
    }
}
