//! `FlexAttention` of the domain `ai.onnx.preview`: attention of heads.

use std::ops::RangeInclusive;

use crate::ops::cast::{element_number, element_type};
use crate::ops::dot_product_attention::{Heads, Scoring, Window, WithoutKeys, attend};
use crate::ops::normalization::precision;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Attention of queries `[N, H, S, D]`, keys `[N, G, T, D]` and values `[N, G, T, E]`, where G divides H. Graphs that change scores
/// or weights on the way are not supported.
#[derive(Clone, PartialEq, Debug)]
pub struct FlexAttention {
    scale: Option<f32>,
    /// The type of scores and weights, if it is stated.
    precision: Option<ElementType>,
}

impl FlexAttention {
    fn shape(context: &Context) -> Result<TensorType, InferError> {
        let [queries, keys, values] = [context.tensor(0)?, context.tensor(1)?, context.tensor(2)?];
        elementwise::floating(queries.element)?;
        let mismatch = || InferError::Mismatch(format!("{queries}, {keys} and {values} do not go together"));
        let (&[batch, heads, length, width], &[b, groups, total, w], &[c, g, t, value_width]) =
            (&queries.shape[..], &keys.shape[..], &values.shape[..])
        else {
            return Err(mismatch());
        };
        let fits = [b, c] == [batch; 2] && w == width && g == groups && t == total;
        let alike = keys.element == queries.element && values.element == queries.element;
        if !fits || !alike || groups == 0 || !heads.is_multiple_of(groups) || width == 0 {
            return Err(mismatch());
        }
        Ok(TensorType::new(queries.element, [batch, heads, length, value_width]))
    }
}

impl Operator for FlexAttention {
    const NAME: &'static str = "FlexAttention";
    const DOMAIN: &'static str = "ai.onnx.preview";
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "softmax_precision";
        let precision = match attributes.int(name)? {
            None => None,
            Some(number) => match element_type(number).filter(|element| element.is_float()) {
                Some(element) => Some(element),
                None => {
                    let reason = format!("element type {number} is not supported");
                    return Err(AttributeError::Value { name, reason });
                }
            },
        };
        Ok(Self { scale: attributes.float("scale")?, precision })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let scale = self.scale.map(|scale| ("scale", Attribute::Float(scale)));
        let number = |element| ("softmax_precision", Attribute::Int(element_number(element)));
        scale.into_iter().chain(self.precision.map(number)).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![Self::shape(context)?.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let inner = self.precision.unwrap_or(precision(element));
        let width = context.accepted(0).shape[3];
        let [queries, keys, values] = [0, 1, 2].map(|at| inputs[at].expect("inference found the inputs"));
        let [queries, keys] = [queries, keys].map(|part| compose::cast(program, part, inner));
        let values = compose::cast(program, values, inner);
        let scoring = Scoring {
            scale: self.scale.unwrap_or(1.0 / (width as f32).sqrt()),
            softcap: None,
            mask: None,
            window: Window::default(),
            lengths: None,
            without_keys: WithoutKeys::NotANumber,
            precision: inner,
        };
        let output = attend(program, Heads { queries, keys, values }, &scoring).output;
        vec![compose::cast(program, output, element)]
    }
}
