//! `DeformConv`: convolution that reads between pixels, where offsets say.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::ops::conv::{self, Conv};
use crate::ops::normalization::precision;
use crate::ops::window::{Span, Window};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, compose, elementwise,
    movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Convolution of images `[N, C, H, W]` with a weight `[M, C / group, K, L]`. Every tap of every window is moved by an
/// offset `[N, groups · K · L · 2, …]`. It is interpolated between the four pixels around it, those outside being zero.
/// Then come an optional bias `[M]`, and a mask `[N, groups · K · L, …]` that multiplies the taps. Groups of channels
/// have offsets of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeformConv {
    window: Window,
    group: usize,
    offset_group: usize,
}

/// The pixels around the taps along one side, each `[N, groups, K, L, H, W]`: places that exist, and weights that are zero
/// where one does not.
struct Side {
    places: [TensorId; 2],
    weights: [TensorId; 2],
}

const OFFSETS: usize = 2;
const BIAS: usize = 3;
const MASK: usize = 4;

impl DeformConv {
    fn spans(&self, context: &Context) -> Result<[Span; 2], InferError> {
        let (data, weight, offsets) = (context.tensor(0)?, context.tensor(1)?, context.tensor(OFFSETS)?);
        elementwise::floating(data.element)?;
        let mismatch = || InferError::Mismatch(format!("{data}, {weight} and offsets of {offsets} do not go together"));
        let (&[batch, channels, ..], &[outputs, inner, ..]) = (&data.shape[..], &weight.shape[..]) else {
            return Err(mismatch());
        };
        if data.shape.len() != 4 || weight.shape.len() != 4 {
            return Err(InferError::Unsupported(format!(
                "images of {data} are not supported: two spatial dimensions are"
            )));
        }
        let taps = self.window.taps(Some(&weight.shape[2..]))?;
        let spans = self.window.spans(&data.shape[2..], &taps, false)?;
        let [rows, columns] = [spans[0], spans[1]];
        let places = self.offset_group * rows.taps * columns.taps;
        let grid = [rows.output, columns.output];
        let is_field = |ty: &TensorType, each: usize| {
            ty.element == data.element && *ty.shape == [batch, each * places, grid[0], grid[1]]
        };
        let divides = inner.checked_mul(self.group) == Some(channels)
            && outputs % self.group == 0
            && channels % self.offset_group == 0;
        let mask_fits = context.optional(MASK)?.is_none_or(|mask| is_field(mask, 1));
        let bias = context.optional(BIAS)?;
        let bias_fits = bias.is_none_or(|bias| *bias.shape == [outputs] && bias.element == data.element);
        let extents = rows.input > 0 && columns.input > 0;
        if divides && extents && weight.element == data.element && is_field(offsets, 2) && mask_fits && bias_fits {
            Ok([rows, columns])
        } else {
            Err(mismatch())
        }
    }

    /// Appends the pixels around the taps along a side: 0 for rows, 1 for columns.
    fn side(&self, program: &mut ProgramBuilder, offsets: TensorId, spans: &[Span; 2], side: usize) -> Side {
        let ty = program.ty(offsets).clone();
        let element = precision(ty.element);
        let [rows, columns] = spans;
        let shape = [ty.shape[0], self.offset_group, rows.taps, columns.taps, rows.output, columns.output];
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&shape);
        let operand = expr.operand(&ty);
        let group = Index::axis(axes[1]).times((rows.taps * columns.taps) as i64);
        let tap = group.add(&Self::tap(&axes, columns)).times(2).plus(side as i64);
        let offset = expr.read(operand, vec![Index::axis(axes[0]), tap, Index::axis(axes[4]), Index::axis(axes[5])]);
        let place = spans[side].place(axes[4 + side], axes[2 + side]);
        let place = Scalar::Index(place, ElementType::I32).cast(ElementType::I32, element);
        let body = place.binary(BinaryOp::Add, offset.cast(ty.element, element));
        let position = program.compute(expr.map(element, body), &[offsets]);

        let literal = |value: f64| Scalar::literal(element, value);
        let last = spans[side].input as f64 - 1.0;
        let [low, high] = [0.0, 1.0].map(|next| {
            let place = |x: Scalar| x.unary(UnaryOp::Floor).binary(BinaryOp::Add, literal(next));
            let inside = compose::map(program, [position], ElementType::I32, |[x]| {
                let inside = place(x).binary(BinaryOp::Maximum, literal(0.0)).binary(BinaryOp::Minimum, literal(last));
                inside.cast(element, ElementType::I32)
            });
            let weight = compose::map(program, [position], element, |[x]| {
                let part = x.clone().binary(BinaryOp::Subtract, x.clone().unary(UnaryOp::Floor));
                let weight = if next == 0.0 { literal(1.0).binary(BinaryOp::Subtract, part) } else { part };
                let place = place(x);
                let exists = literal(0.0).binary(BinaryOp::LessEqual, place.clone());
                let exists = exists.binary(BinaryOp::And, place.binary(BinaryOp::LessEqual, literal(last)));
                exists.select(weight, literal(0.0))
            });
            (inside, weight)
        });
        Side { places: [low.0, high.0], weights: [low.1, high.1] }
    }

    /// The number of a tap of its window; axes as those of a [`Side`].
    fn tap(axes: &[AxisId], columns: &Span) -> Index {
        Index::axis(axes[2]).times(columns.taps as i64).add(&Index::axis(axes[3]))
    }
}

impl Operator for DeformConv {
    const NAME: &'static str = "DeformConv";
    const OPSETS: RangeInclusive<i64> = 19..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "offset_group";
        let count = attributes.int(name)?.unwrap_or(1);
        let reason = || format!("{count} groups are not possible");
        let offset_group = usize::try_from(count).ok().filter(|count| (1..1 << 16).contains(count));
        let offset_group = offset_group.ok_or_else(|| AttributeError::Value { name, reason: reason() })?;
        Ok(Self { window: Window::from_attributes(attributes)?, group: conv::group(attributes)?, offset_group })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let groups = [("group", self.group), ("offset_group", self.offset_group)];
        let groups = groups.map(|(name, count)| (name, Attribute::Int(count as i64)));
        self.window.attributes().into_iter().chain(groups).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let [rows, columns] = self.spans(context)?;
        let (data, weight) = (context.tensor(0)?, context.tensor(1)?);
        let shape = [data.shape[0], weight.shape[0], rows.output, columns.output];
        Ok(vec![TensorType::new(data.element, shape).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let spans = self.spans(context).expect("inference accepted the inputs");
        let [data_id, weight_id, offsets] = [0, 1, OFFSETS].map(|at| inputs[at].expect("inference found the inputs"));
        let (data, weight) = (context.accepted(0).clone(), context.accepted(1).clone());
        let sides = [0, 1].map(|side| self.side(program, offsets, &spans, side));
        let [rows, columns] = spans;
        let (batch, channels) = (data.shape[0], data.shape[1]);
        let shape = [batch, channels, rows.taps, columns.taps, rows.output, columns.output];
        let element = precision(data.element);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&shape);
        let each = (channels / self.offset_group).max(1) as i64;
        let group = Index::axis(axes[1]).floor_div(each, &|axis| expr.range(axis));
        let image = expr.operand(&data);
        let mut operands = vec![data_id];
        let mut field = |tensor: TensorId, expr: &mut ExprBuilder| {
            operands.push(tensor);
            let operand = expr.operand(program.ty(tensor));
            let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
            index[1] = group.clone();
            expr.read(operand, index)
        };
        let taps =
            sides.map(|side| [0, 1].map(|at| (field(side.places[at], &mut expr), field(side.weights[at], &mut expr))));
        let mut sum: Option<Scalar> = None;
        for (row, row_weight) in &taps[0] {
            for (column, column_weight) in &taps[1] {
                let place = [expr.indirect(row, rows.input), expr.indirect(column, columns.input)];
                let index = [Index::axis(axes[0]), Index::axis(axes[1])].into_iter().chain(place).collect();
                let pixel = expr.read(image, index).cast(data.element, element);
                let weight = row_weight.clone().binary(BinaryOp::Multiply, column_weight.clone());
                let term = pixel.binary(BinaryOp::Multiply, weight);
                sum = Some(match sum {
                    Some(sum) => sum.binary(BinaryOp::Add, term),
                    None => term,
                });
            }
        }
        let mut value = sum.expect("there are four pixels");
        if let Some(mask) = inputs.get(MASK).copied().flatten() {
            let operand = expr.operand(context.accepted(MASK));
            let taps = (rows.taps * columns.taps) as i64;
            let tap = group.times(taps).add(&Self::tap(&axes, &columns));
            let read = expr.read(operand, vec![Index::axis(axes[0]), tap, Index::axis(axes[4]), Index::axis(axes[5])]);
            operands.push(mask);
            value = value.binary(BinaryOp::Multiply, read.cast(data.element, element));
        }
        let sampled = program.compute(expr.map(data.element, value.cast(element, data.element)), &operands);

        // What remains is a product: every tap of every channel is a channel of its own.
        let taps = rows.taps * columns.taps;
        let sampled =
            movement::reshape(program, sampled, &[batch, channels * taps, rows.output, columns.output].into());
        let kernel = [weight.shape[0], weight.shape[1] * taps, 1, 1].into();
        let kernel = movement::reshape(program, weight_id, &kernel);
        let bias = inputs.get(BIAS).copied().flatten();
        program.apply(&Conv::pointwise(self.group), &[Some(sampled), Some(kernel), bias], 1)
    }
}
