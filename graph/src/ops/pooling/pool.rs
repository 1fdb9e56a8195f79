//! What the pooling operators have in common.

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::ops::window::{Span, Window};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, elementwise};
use crate::program::Ties;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// A window that slides over the spatial dimensions of `[N, C, …]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    pub window: Window,
    /// Whether a last window that sticks out counts.
    pub round_up: bool,
}

impl Pool {
    /// Takes the attributes that pooling operators share.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let window = Window::from_attributes(attributes)?;
        Ok(Self { window, round_up: attributes.flag("ceil_mode")?.unwrap_or(false) })
    }

    /// The window along each spatial dimension.
    pub fn spans(&self, context: &Context) -> Result<Vec<Span>, InferError> {
        let data = context.tensor(0)?;
        if !(3..=5).contains(&data.shape.len()) {
            return Err(InferError::Mismatch(format!("{data} has no spatial dimensions to pool over")));
        }
        self.window.spans(&data.shape[2..], &self.window.taps(None)?, self.round_up)
    }

    /// The type of the output.
    pub fn infer(&self, context: &Context) -> Result<TensorType, InferError> {
        let spans = self.spans(context)?;
        let data = context.tensor(0)?;
        let spatial = spans.iter().map(|span| span.output);
        let shape: Shape = data.shape[..2].iter().copied().chain(spatial).collect();
        Ok(TensorType { element: data.element, shape })
    }

    /// Appends the reduction of every window, `fill` standing for what lies outside the input; the epilogue is given
    /// the axes of the windows.
    pub fn reduce(
        &self,
        context: &Context,
        input: TensorId,
        program: &mut ProgramBuilder,
        reducer: Reducer,
        fill: Literal,
        epilogue: impl FnOnce(&[Span], &[AxisId], &ExprBuilder) -> Option<Scalar>,
    ) -> TensorId {
        let data = context.accepted(0);
        let spans = self.spans(context).expect("inference accepted the window");
        let mut expr = ExprBuilder::new();
        let outer = expr.parallels(&data.shape[..2]);
        let windows: Vec<AxisId> = spans.iter().map(|span| expr.parallel(span.output)).collect();
        let taps: Vec<AxisId> = spans.iter().map(|span| expr.reduced(span.taps)).collect();
        let places = spans.iter().zip(windows.iter().zip(&taps));
        let places = places.map(|(span, (&window, &tap))| span.place(window, tap));
        let index = outer.iter().map(|&axis| Index::axis(axis)).chain(places).collect();
        let operand = expr.operand(program.ty(input));
        let body = expr.padded_read(operand, index, fill);
        let epilogue = epilogue(&spans, &windows, &expr);
        let pooled = expr.reduce(data.element, reducer, body, epilogue);
        program.with_ties(Ties::First, |program| program.compute(pooled, &[input]))
    }

    /// Appends the flat argmax indices: per window, the index in the whole of `input` of the first element equal to `found`. Within a
    /// channel the last dimension is the fastest, or the first if `first_fastest`.
    pub fn places(
        &self,
        context: &Context,
        [input, found]: [TensorId; 2],
        program: &mut ProgramBuilder,
        first_fastest: bool,
    ) -> TensorId {
        let data = context.accepted(0);
        let spans = self.spans(context).expect("inference accepted the window");
        let mut expr = ExprBuilder::new();
        let outer = expr.parallels(&data.shape[..2]);
        let windows: Vec<AxisId> = spans.iter().map(|span| expr.parallel(span.output)).collect();
        let taps: Vec<AxisId> = spans.iter().map(|span| expr.reduced(span.taps)).collect();
        let places = spans.iter().zip(windows.iter().zip(&taps));
        let places: Vec<Index> = places.map(|(span, (&window, &tap))| span.place(window, tap)).collect();
        let inside = places
            .iter()
            .zip(&spans)
            .fold(Guard::always(), |guard, (place, span)| expr.guard(guard, place.clone(), 0, span.input as i64));
        let index = outer.iter().map(|&axis| Index::axis(axis)).chain(places.iter().cloned()).collect();
        let (operand, extremes) = (expr.operand(data), expr.operand(program.ty(found)));
        let element = expr.guarded_read(operand, index, inside.clone(), Literal::lowest(data.element));
        let own = outer.iter().chain(&windows).map(|&axis| Index::axis(axis)).collect();
        let extreme = expr.read(extremes, own);
        let number = |value: i64| Scalar::Literal(Literal::integer(ElementType::I64, value));
        let extents = Shape::from(&data.shape[2..]);
        let volume = extents.elements() as i64;
        let is_found =
            Scalar::Holds(inside).binary(BinaryOp::And, elementwise::is_extreme(data.element, element, extreme));
        let place = Scalar::Index(Index::linear(&places, &extents.strides(), 0), ElementType::I64);
        let body = is_found.select(place, number(volume));
        let last = Scalar::Reduced.binary(BinaryOp::Minimum, number(volume - 1));
        let channel = Index::axis(outer[0]).times(data.shape[1] as i64).add(&Index::axis(outer[1])).times(volume);
        let place = if first_fastest { transposed(&last, &extents) } else { last };
        let place = place.binary(BinaryOp::Add, Scalar::Index(channel, ElementType::I64));
        program.compute(expr.reduce(ElementType::I64, Reducer::Minimum, body, Some(place)), &[input, found])
    }
}

/// A place counted with the last of some dimensions fastest, counted with the first one fastest.
fn transposed(place: &Scalar, extents: &Shape) -> Scalar {
    let number = |value: usize| Scalar::Literal(Literal::integer(ElementType::I64, value as i64));
    let mut factor = 1;
    let mut total = number(0);
    for (&stride, &extent) in extents.strides().iter().zip(extents.iter()) {
        let whole = place.clone().binary(BinaryOp::Divide, number(stride));
        let coordinate = whole.binary(BinaryOp::Remainder, number(extent));
        total = total.binary(BinaryOp::Add, coordinate.binary(BinaryOp::Multiply, number(factor)));
        factor *= extent;
    }
    total
}
