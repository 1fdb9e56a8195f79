//! `ConvTranspose`: transposed convolution.

use std::ops::RangeInclusive;

use super::conv::{check_bias, group};
use super::window::{Padding, Window, filled};
use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise, movement};
use crate::expr::{AxisId, BinaryOp, Condition, ExprBuilder, Guard, Index, Literal, Range, Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{MAX_RANK, Shape, TensorType, ValueType};

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
        let leading = if group.is_some() { 3 } else { 2 };
        let phased = spans.iter().all(|span| span.dilation == 1) && leading + 2 * spans.len() <= MAX_RANK;
        let places: Vec<OutputAxes> = spans.iter().map(|span| OutputAxes::new(span, phased, &mut expr)).collect();
        let input = expr.reduced(inner);

        let channel = |group: Option<AxisId>, axis: AxisId, extent: usize| match group {
            Some(group) => Index::axis(group).times(extent as i64).add(&Index::axis(axis)),
            None => Index::axis(axis),
        };
        let input_channel = channel(group, input, inner);
        let mut guard = Guard::always();
        let mut x_index = vec![Index::axis(batch), input_channel.clone()];
        let mut w_index = vec![input_channel, Index::axis(output)];
        for (place, span) in places.iter().zip(&spans) {
            let (input, tap, condition) = place.taps(span, &mut expr);
            guard = expr.guard(guard, input.clone(), 0, span.input as i64);
            guard = expr.guard(guard, tap.clone(), 0, span.taps as i64);
            if let Some(Condition { index, lower, upper }) = condition {
                guard = expr.guard(guard, index, lower, upper);
            }
            x_index.push(input);
            w_index.push(tap);
        }
        let w_guard = places
            .iter()
            .zip(&spans)
            .zip(&w_index[2..])
            .fold(Guard::always(), |guard, ((_, span), tap)| expr.guard(guard, tap.clone(), 0, span.taps as i64));
        let (x, w) = (expr.operand(data), expr.operand(weight));
        let zero = Literal::new(data.element, 0.0);
        let x = expr.guarded_read(x, x_index, guard, zero);
        let w = expr.guarded_read(w, w_index, w_guard, zero);
        let epilogue = context.optional(2).ok().flatten().map(|bias| {
            let bias = expr.operand(bias);
            let channel = channel(group, output, outputs_per_group);
            Scalar::Reduced.binary(BinaryOp::Add, expr.read(bias, vec![channel]))
        });
        let expr = expr.reduce(data.element, Reducer::Sum, x.binary(BinaryOp::Multiply, w), epilogue);
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let result = program.compute(expr, &operands);
        vec![gather_phases(program, result, leading, &spans, &places, &self.output(context).shape)]
    }
}

/// The axes that stand for one spatial dimension of the output.
enum OutputAxes {
    /// `o + before mod stride = stride · quotient + phase`: only the taps that hit the phase are summed.
    Phased { quotient: AxisId, phase: Option<AxisId> },
    /// The output position itself: taps that miss it are guarded out.
    Plain { output: AxisId },
}

impl OutputAxes {
    fn new(span: &Span, phased: bool, expr: &mut ExprBuilder) -> Self {
        if !phased {
            return Self::Plain { output: expr.parallel(span.output) };
        }
        let quotients = (span.output + (span.before % span.stride) as usize).div_ceil(span.stride as usize);
        let quotient = expr.parallel(quotients);
        let phase = (span.stride > 1).then(|| expr.parallel(span.stride as usize));
        Self::Phased { quotient, phase }
    }

    /// Declares the tap axis; the input element and the tap of the weight under it, and a condition for both.
    fn taps(&self, span: &Span, expr: &mut ExprBuilder) -> (Index, Index, Option<Condition>) {
        match self {
            Self::Phased { quotient, phase, .. } => {
                let step = expr.reduced(span.taps.div_ceil(span.stride as usize));
                let input = Index::axis(*quotient).plus(span.before / span.stride).add(&Index::axis(step).times(-1));
                let first = phase.map_or(Index::constant(0), Index::axis);
                (input, Index::axis(step).times(span.stride).add(&first), None)
            }
            Self::Plain { output } => {
                let tap = expr.reduced(span.taps);
                let distance = Index::axis(*output).plus(span.before).add(&Index::axis(tap).times(-span.dilation));
                let ranges = |axis| expr.range(axis);
                let missed = distance.modulo(span.stride, &ranges);
                let hit = Condition { index: missed, lower: 0, upper: 1 };
                (distance.floor_div(span.stride, &ranges), Index::axis(tap), Some(hit))
            }
        }
    }
}

/// The output in its own dimensions, from one with quotients and phases.
fn gather_phases(
    program: &mut ProgramBuilder,
    result: TensorId,
    leading: usize,
    spans: &[Span],
    places: &[OutputAxes],
    shape: &Shape,
) -> TensorId {
    if program.ty(result).shape == *shape {
        return result;
    }
    let computed = program.ty(result).shape.clone();
    movement::rearrange(program, result, shape, |axes| {
        let ranges = |axis: AxisId| {
            let extent =
                axes.iter().zip(shape.iter()).find(|(known, _)| **known == axis).map_or(1, |(_, &extent)| extent);
            Range { minimum: 0, maximum: (extent as i64 - 1).max(0) }
        };
        let channel = Index::axis(axes[1]);
        let mut index = vec![Index::axis(axes[0])];
        if leading == 3 {
            let per_group = computed[2].max(1) as i64;
            index.push(channel.floor_div(per_group, &ranges));
            index.push(channel.modulo(per_group, &ranges));
        } else {
            index.push(channel);
        }
        for ((span, place), &axis) in spans.iter().zip(places).zip(&axes[2..]) {
            let shifted = Index::axis(axis).plus(span.before % span.stride);
            match place {
                OutputAxes::Plain { .. } => index.push(Index::axis(axis)),
                OutputAxes::Phased { phase: None, .. } => index.push(shifted),
                OutputAxes::Phased { phase: Some(_), .. } => {
                    index.push(shifted.floor_div(span.stride, &ranges));
                    index.push(shifted.modulo(span.stride, &ranges));
                }
            }
        }
        index
    })
}
