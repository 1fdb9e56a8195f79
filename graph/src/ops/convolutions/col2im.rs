//! `Col2Im`: blocks added into an image.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, ExprBuilder, Guard, Index, Literal, Reducer};
use crate::ops::indices::volume;
use crate::ops::window::{Span, Window};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// `[N, C · block, blocks]` as images `[N, C, …]`: every pixel is the sum of what the blocks over it hold. The extents of
/// image and block are constant inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Col2Im {
    window: Window,
}

/// The window along each dimension of the image, and the channels.
struct Image {
    spans: Vec<Span>,
    channels: usize,
}

impl Col2Im {
    fn image(&self, context: &Context) -> Result<Image, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        let extents = |input: usize| {
            let values = context.integers(input)?.ok_or(InferError::Missing(input))?;
            let possible = values.iter().all(|value| (1..1 << 30).contains(value)) && (1..=3).contains(&values.len());
            let error = || InferError::Mismatch(format!("{values:?} are no extents of one to three dimensions"));
            if possible { Ok(values.iter().map(|&value| value as usize).collect::<Vec<_>>()) } else { Err(error()) }
        };
        let (image, block) = (extents(1)?, extents(2)?);
        let spans = self.window.spans(&image, &block, false)?;
        let outputs: Vec<usize> = spans.iter().map(|span| span.output).collect();
        let (taps, blocks) = (volume(&block), volume(&outputs));
        if data.shape.len() != 3 || data.shape[1] % taps != 0 || data.shape[2] != blocks {
            let reason = format!("{data} are no {blocks} blocks of {taps} elements a channel");
            return Err(InferError::Mismatch(reason));
        }
        Ok(Image { spans, channels: data.shape[1] / taps })
    }
}

impl Operator for Col2Im {
    const NAME: &'static str = "Col2Im";
    const OPSETS: RangeInclusive<i64> = 18..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { window: Window::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.window.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Image { spans, channels } = self.image(context)?;
        let data = context.tensor(0)?;
        let spatial = spans.iter().map(|span| span.input);
        let shape: Shape = [data.shape[0], channels].into_iter().chain(spatial).collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let Image { spans, channels } = self.image(context).expect("inference accepted the extents");
        let data = context.accepted(0);
        let mut expr = ExprBuilder::new();
        let (batch, channel) = (expr.parallel(data.shape[0]), expr.parallel(channels));
        let pixels: Vec<AxisId> = spans.iter().map(|span| expr.parallel(span.input)).collect();
        let taps: Vec<AxisId> = spans.iter().map(|span| expr.reduced(span.taps)).collect();
        // A tap of a block lies on the pixel where `block · stride + tap · dilation − before` is it.
        let mut guard = Guard::always();
        let (mut column, mut block) = (Index::axis(channel), Index::constant(0));
        for ((span, &pixel), &tap) in spans.iter().zip(&pixels).zip(&taps) {
            let ranges = |axis| expr.range(axis);
            let distance = Index::axis(pixel).plus(span.before).add(&Index::axis(tap).times(-span.dilation));
            let (place, missed) = (distance.floor_div(span.stride, &ranges), distance.modulo(span.stride, &ranges));
            guard = expr.guard(guard, place.clone(), 0, span.output as i64);
            guard = expr.guard(guard, missed, 0, 1);
            column = column.times(span.taps as i64).add(&Index::axis(tap));
            block = block.times(span.output as i64).add(&place);
        }
        let operand = expr.operand(data);
        let zero = Literal::new(data.element, 0.0);
        let body = expr.guarded_read(operand, vec![Index::axis(batch), column, block], guard, zero);
        let expr = expr.reduce(data.element, Reducer::Sum, body, None);
        vec![program.compute(expr, &[inputs[0].expect("inference found the input")])]
    }
}
