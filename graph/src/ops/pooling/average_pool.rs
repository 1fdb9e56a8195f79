//! `AveragePool`: the mean of every window.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::ops::pool::Pool;
use crate::ops::window::Span;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// The mean of every window: over the taps inside the input or, where the padding counts, inside the padded input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AveragePool {
    pool: Pool,
    count_padding: bool,
}

impl AveragePool {
    /// How many taps of a window count along one dimension.
    fn count(&self, span: &Span, window: AxisId, expr: &ExprBuilder) -> Index {
        let ranges = |axis| expr.range(axis);
        let (lower, upper) = match self.count_padding {
            true => (-span.before, span.input as i64 + span.after),
            false => (0, span.input as i64),
        };
        let taps = span.taps as i64;
        let backwards = span.start(window).times(-1);
        let first = backwards.plus(lower + span.dilation - 1).floor_div(span.dilation, &ranges);
        let end = backwards.plus(upper + span.dilation - 1).floor_div(span.dilation, &ranges);
        end.clamped(0, taps, &ranges).add(&first.clamped(0, taps, &ranges).times(-1))
    }
}

impl Operator for AveragePool {
    const NAME: &'static str = "AveragePool";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let pool = Pool::from_attributes(attributes)?;
        Ok(Self { pool, count_padding: attributes.flag("count_include_pad")?.unwrap_or(false) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.pool.window.attributes();
        attributes.push(("ceil_mode", Attribute::Int(i64::from(self.pool.round_up))));
        attributes.push(("count_include_pad", Attribute::Int(i64::from(self.count_padding))));
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        elementwise::floating(context.tensor(0)?.element)?;
        Ok(vec![self.pool.infer(context)?.into()])
    }

    fn follows(&self, _: &Context, _: usize, dimension: usize) -> Option<usize> {
        (dimension < 2).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let divide = |spans: &[Span], windows: &[AxisId], expr: &ExprBuilder| {
            let counts = spans.iter().zip(windows).map(|(span, &window)| self.count(span, window, expr));
            let (known, varying): (Vec<Index>, Vec<Index>) = counts.partition(|count| count.as_constant().is_some());
            let known: i64 = known.iter().filter_map(Index::as_constant).product();
            let mut result = Scalar::Reduced;
            if known != 1 || varying.is_empty() {
                result = result.binary(BinaryOp::Divide, Scalar::literal(element, known as f64));
            }
            for count in varying {
                let count = Scalar::Index(count, ElementType::I32).cast(ElementType::I32, element);
                result = result.binary(BinaryOp::Divide, count);
            }
            Some(result)
        };
        let data = inputs[0].expect("inference found the input");
        let zero = Literal::new(context.accepted(0).element, 0.0);
        vec![self.pool.reduce(context, data, program, Reducer::Sum, zero, divide)]
    }
}
