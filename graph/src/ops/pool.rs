//! What the pooling operators have in common.

use super::window::{Span, Window};
use super::{AttributeError, AttributeReader, Context, InferError};
use crate::expr::{AxisId, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType};

/// A window that slides over the spatial dimensions of `[N, C, …]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// The window.
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
        let operand = expr.operand(data);
        let body = expr.padded_read(operand, index, fill);
        let epilogue = epilogue(&spans, &windows, &expr);
        program.compute(expr.reduce(data.element, reducer, body, epilogue), &[input])
    }
}
