//! `MaxUnpool`: elements put back where the maxima of windows were.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::ops::window::{Window, filled};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// Every element of the first input at the place that the second names, zero elsewhere. A place is counted over the whole
/// unpooled tensor, as `MaxPool` counts it, and lies in the window of its element: a run in which one does not fails. The third
/// input is the constant shape of the output, which may be larger than the unpooled tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MaxUnpool {
    window: Window,
}

/// What is known of the unpooling.
struct Extents {
    /// The extents that all windows make together.
    unpooled: Shape,
    output: Shape,
    /// Along each spatial dimension.
    taps: Vec<usize>,
    strides: Vec<i64>,
    before: Vec<i64>,
}

impl MaxUnpool {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let (data, places) = (context.tensor(0)?, context.tensor(1)?);
        let rank = data.shape.len();
        if !(3..=5).contains(&rank) || data.shape != places.shape || places.element != ElementType::I64 {
            return Err(InferError::Mismatch(format!("{places} does not name places for {data}")));
        }
        let taps = filled(
            Some(&self.window.taps(None)?.iter().map(|&taps| taps as i64).collect::<Vec<_>>()),
            rank - 2,
            1,
            "kernel_shape",
        )?;
        let (strides, pads) = (self.window.strides(rank - 2)?, self.window.pads(rank - 2)?);
        let mut unpooled = data.shape[..2].to_vec();
        for at in 0..rank - 2 {
            let windows = (data.shape[at + 2] as i64 - 1).saturating_mul(strides[at]);
            let extent = windows.saturating_add(taps[at]) - pads[at] - pads[at + rank - 2];
            let extent = usize::try_from(extent).ok().filter(|&extent| extent > 0 && data.shape[at + 2] > 0);
            unpooled.push(extent.ok_or_else(|| InferError::Mismatch(format!("no windows make {data}")))?);
        }
        let unpooled = Shape::from(unpooled);
        let tap_count = taps.iter().try_fold(1i64, |count, &taps| count.checked_mul(taps));
        if unpooled.checked_elements().is_none() || tap_count.is_none() {
            return Err(InferError::Unsupported(format!("unpooled, {data} is too large")));
        }
        let named = context.integers(2)?;
        let output = match named {
            None => unpooled.clone(),
            Some(named) => {
                let fits = named.len() == rank
                    && named.iter().zip(unpooled.iter()).enumerate().all(|(at, (&named, &extent))| {
                        if at < 2 { named == extent as i64 } else { named >= extent as i64 }
                    });
                if !fits {
                    return Err(InferError::Mismatch(format!("an output of {named:?} does not hold [{unpooled}]")));
                }
                named.iter().map(|&extent| extent as usize).collect()
            }
        };
        let taps = taps.into_iter().map(|taps| taps as usize).collect();
        Ok(Extents { unpooled, output, taps, strides, before: pads[..rank - 2].to_vec() })
    }

    /// Appends the tap of its window that every element goes to, `taps` of them; a place elsewhere names no tap.
    fn taps(program: &mut ProgramBuilder, places: TensorId, extents: &Extents) -> TensorId {
        let ty = program.ty(places).clone();
        let number = |value: i64| Scalar::Literal(Literal::integer(ElementType::I64, value));
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let place = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect());
        let volume: usize = extents.unpooled[2..].iter().product();
        let channel = Index::axis(axes[0]).times(ty.shape[1] as i64).add(&Index::axis(axes[1]));
        let first = Scalar::Index(channel, ElementType::I64).binary(BinaryOp::Multiply, number(volume as i64));
        let place = place.binary(BinaryOp::Subtract, first);
        let between = |x: &Scalar, end: usize| {
            let low = number(0).binary(BinaryOp::LessEqual, x.clone());
            low.binary(BinaryOp::And, x.clone().binary(BinaryOp::Less, number(end as i64)))
        };
        let mut is_inside = between(&place, volume);
        let mut tap = number(0);
        let strides = Shape::from(&extents.unpooled[2..]).strides();
        for (at, &taps) in extents.taps.iter().enumerate() {
            let whole = place.clone().binary(BinaryOp::Divide, number(strides[at] as i64));
            let coordinate = whole.binary(BinaryOp::Remainder, number(extents.unpooled[at + 2] as i64));
            let start = Index::axis(axes[at + 2]).times(extents.strides[at]).plus(-extents.before[at]);
            let own = coordinate.binary(BinaryOp::Subtract, Scalar::Index(start, ElementType::I64));
            is_inside = is_inside.binary(BinaryOp::And, between(&own, taps));
            tap = tap.binary(BinaryOp::Multiply, number(taps as i64)).binary(BinaryOp::Add, own);
        }
        let count: usize = extents.taps.iter().product();
        let body = is_inside.select(tap, number(count as i64));
        let named = program.compute(expr.map(ElementType::I64, body), &[places]);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let operand = expr.operand(&ty);
        let named_tap = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect());
        let body = Scalar::Index(expr.indirect(&named_tap, count), ElementType::I64);
        program.compute(expr.map(ElementType::I64, body), &[named])
    }
}

impl Operator for MaxUnpool {
    const NAME: &'static str = "MaxUnpool";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { window: Window::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.window.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = self.extents(context)?;
        Ok(vec![TensorType { element: context.tensor(0)?.element, shape: extents.output }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let [data_id, places] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        let data = context.accepted(0).clone();
        let taps = Self::taps(program, places, &extents);

        // The last element that goes to a place, looked for among those whose windows have it.
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&extents.output);
        let mut window = vec![Index::axis(axes[0]), Index::axis(axes[1])];
        let mut own_tap = Index::constant(0);
        let mut guard = Guard::always();
        for (at, &count) in extents.taps.iter().enumerate() {
            let stride = extents.strides[at];
            let step = expr.reduced(count.div_ceil(stride as usize));
            let place = Index::axis(axes[at + 2]).plus(extents.before[at]);
            let index = place.floor_div(stride, &|axis| expr.range(axis)).add(&Index::axis(step).times(-1));
            let own = place.add(&index.times(-stride));
            guard = expr.guard(guard, index.clone(), 0, data.shape[at + 2] as i64);
            guard = expr.guard(guard, own.clone(), 0, count as i64);
            own_tap = own_tap.times(count as i64).add(&own);
            window.push(index);
        }
        let operand = expr.operand(program.ty(taps));
        let nothing = Literal::integer(ElementType::I64, -1);
        let tap = expr.guarded_read(operand, window.clone(), guard, nothing);
        let is_there = tap.binary(BinaryOp::Equal, Scalar::Index(own_tap, ElementType::I64));
        let number = Index::linear(&window[2..], &Shape::from(&data.shape[2..]).strides(), 0);
        let body = is_there.select(Scalar::Index(number, ElementType::I64), Scalar::Literal(nothing));
        let last = program.compute(expr.reduce(ElementType::I64, Reducer::Maximum, body, None), &[taps]);

        let volume: usize = data.shape[2..].iter().product();
        let flat = movement::reshape(program, data_id, &[data.shape[0], data.shape[1], volume].into());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&extents.output);
        let operand = expr.operand(program.ty(last));
        let number = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect());
        let operand = expr.operand(program.ty(flat));
        let place = expr.indirect(&number, volume);
        let value = expr.read(operand, vec![Index::axis(axes[0]), Index::axis(axes[1]), place]);
        let is_absent = number.binary(BinaryOp::Less, Scalar::literal(ElementType::I64, 0.0));
        let body = is_absent.select(Scalar::literal(data.element, 0.0), value);
        vec![program.compute(expr.map(data.element, body), &[last, flat])]
    }
}
