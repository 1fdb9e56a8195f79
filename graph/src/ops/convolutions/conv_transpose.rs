//! `ConvTranspose`: transposed convolution.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::ops::conv::{check_bias, group};
use crate::ops::window::{Padding, Window, filled};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// Transposed convolution of `[N, C, …]` with a weight `[C, M / group, …]` and an optional bias `[M]`, over up to three
/// spatial dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvTranspose {
    window: Window,
    group: usize,
    output_padding: Option<Vec<i64>>,
    output_shape: Option<Vec<i64>>,
}

/// One spatial dimension: output `o` gets input `i` through tap `k` where `o + before = stride · i + dilation · k`.
#[derive(Clone, Copy, Debug)]
struct Span {
    input: usize,
    output: usize,
    taps: usize,
    stride: i64,
    dilation: i64,
    before: i64,
}

impl ConvTranspose {
    fn spans(&self, context: &Context) -> Result<Vec<Span>, InferError> {
        let (data, weight) = (context.tensor(0)?, context.tensor(1)?);
        let mismatch = || InferError::Mismatch(format!("{data} and {weight} in {} groups do not fit", self.group));
        let rank = data.shape.len();
        let fits = (3..=5).contains(&rank) && weight.shape.len() == rank && weight.element == data.element;
        if !fits || weight.shape[0] != data.shape[1] || data.shape[1] % self.group != 0 {
            return Err(mismatch());
        }
        elementwise::floating(data.element)?;
        check_bias(context, weight.shape[1].saturating_mul(self.group))?;
        let spatial = rank - 2;
        let taps = self.window.taps(Some(&weight.shape[2..]))?;
        let (strides, dilations) = (self.window.strides(spatial)?, self.window.dilations(spatial)?);
        let pads = self.window.pads(spatial)?;
        let extra = filled(self.output_padding.as_deref(), spatial, 0, "output_padding")?;
        let wanted = self.output_shape.as_deref().map(|shape| &shape[shape.len().saturating_sub(spatial)..]);
        let span = |at: usize| {
            let (input, stride, dilation) = (data.shape[at + 2] as i64, strides[at], dilations[at]);
            let reach = dilation.saturating_mul(taps[at] as i64 - 1).saturating_add(1);
            let full = (input - 1).saturating_mul(stride).saturating_add(reach).saturating_add(extra[at]);
            let automatic = match self.window.padding() {
                Padding::SameUpper | Padding::SameLower => Some(input.saturating_mul(stride).min(full)),
                Padding::Explicit(_) | Padding::Valid => None,
            };
            let named = wanted.and_then(|wanted| wanted.get(at).copied()).or(automatic);
            let (output, before) = match named {
                None => (full - pads[at] - pads[at + spatial], pads[at]),
                Some(output) => {
                    let total = full.saturating_sub(output).max(0);
                    let odd_after = *self.window.padding() == Padding::SameUpper;
                    (output, if odd_after { total / 2 } else { total - total / 2 })
                }
            };
            let output = usize::try_from(output).map_err(|_| mismatch())?;
            let (input, taps) = (data.shape[at + 2], taps[at]);
            Ok(Span { input, output, taps, stride, dilation, before })
        };
        (0..spatial).map(span).collect()
    }
}

impl Operator for ConvTranspose {
    const NAME: &'static str = "ConvTranspose";
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let nonnegative = |name: &'static str, values: Option<Vec<i64>>| match values {
            Some(list) if list.iter().any(|value| !(0..1 << 30).contains(value)) => {
                Err(AttributeError::Value { name, reason: format!("{list:?} has values out of range") })
            }
            values => Ok(values),
        };
        Ok(Self {
            window: Window::from_attributes(attributes)?,
            group: group(attributes)?,
            output_padding: nonnegative("output_padding", attributes.ints("output_padding")?)?,
            output_shape: nonnegative("output_shape", attributes.ints("output_shape")?)?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.window.attributes();
        attributes.push(("group", Attribute::Int(self.group as i64)));
        let lists = [("output_padding", &self.output_padding), ("output_shape", &self.output_shape)];
        attributes.extend(lists.into_iter().filter_map(|(name, list)| Some((name, Attribute::Ints(list.clone()?)))));
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let spans = self.spans(context)?;
        let (data, weight) = (context.tensor(0)?, context.tensor(1)?);
        let channels = weight.shape[1].saturating_mul(self.group);
        let shape: Shape = [data.shape[0], channels].into_iter().chain(spans.iter().map(|span| span.output)).collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let spans = self.spans(context).expect("inference accepted the shapes");
        let (data, weight) = (context.accepted(0), context.accepted(1));
        let (outputs_per_group, inner) = (weight.shape[1], data.shape[1] / self.group);
        let mut expr = ExprBuilder::new();
        let batch = expr.parallel(data.shape[0]);
        let group = (self.group > 1).then(|| expr.parallel(self.group));
        let output = expr.parallel(outputs_per_group);
        let places: Vec<AxisId> = spans.iter().map(|span| expr.parallel(span.output)).collect();
        let input = expr.reduced(inner);
        let taps: Vec<AxisId> = spans.iter().map(|span| expr.reduced(span.taps)).collect();

        let channel = |group: Option<AxisId>, axis: AxisId, extent: usize| match group {
            Some(group) => Index::axis(group).times(extent as i64).add(&Index::axis(axis)),
            None => Index::axis(axis),
        };
        let input_channel = channel(group, input, inner);
        let mut guard = Guard::always();
        let mut x_index = vec![Index::axis(batch), input_channel.clone()];
        let mut w_index = vec![input_channel, Index::axis(output)];
        for ((span, &place), &tap) in spans.iter().zip(&places).zip(&taps) {
            let distance = Index::axis(place).plus(span.before).add(&Index::axis(tap).times(-span.dilation));
            let ranges = |axis| expr.range(axis);
            let (input, missed) = (distance.floor_div(span.stride, &ranges), distance.modulo(span.stride, &ranges));
            guard = expr.guard(guard, input.clone(), 0, span.input as i64);
            guard = expr.guard(guard, missed, 0, 1);
            x_index.push(input);
            w_index.push(Index::axis(tap));
        }
        let (x, w) = (expr.operand(data), expr.operand(weight));
        let x = expr.guarded_read(x, x_index, guard, Literal::new(data.element, 0.0));
        let w = expr.read(w, w_index);
        let epilogue = context.optional(2).ok().flatten().map(|bias| {
            let bias = expr.operand(bias);
            let channel = channel(group, output, outputs_per_group);
            Scalar::Reduced.binary(BinaryOp::Add, expr.read(bias, vec![channel]))
        });
        let expr = expr.reduce(data.element, Reducer::Sum, x.binary(BinaryOp::Multiply, w), epilogue);
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let result = program.compute(expr, &operands);
        vec![movement::reshape(program, result, &self.output(context).shape)]
    }
}
