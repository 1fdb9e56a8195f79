//! What softmax and its logarithm have in common.

use crate::expr::{BinaryOp, ExprBuilder, Reducer, Scalar, UnaryOp};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, axes, compose, elementwise, reduction,
};
use crate::program::Ties;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::TensorType;

/// The dimensions over which exponentials are normalised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Normalizer {
    axis: i64,
    /// All dimensions from the axis on, as opsets before 13 have it, instead of the axis alone.
    onward: bool,
}

impl Normalizer {
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let old = attributes.opset() < 13;
        let axis = attributes.int("axis")?.unwrap_or(if old { 1 } else { -1 });
        Ok(Self { axis, onward: attributes.flag("onward")?.unwrap_or(old) })
    }

    /// The attributes. `onward` is not ONNX's: it stands for the meaning before opset 13.
    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let onward = self.onward.then_some(("onward", Attribute::Int(1)));
        [("axis", Attribute::Int(self.axis))].into_iter().chain(onward).collect()
    }

    /// The type of the output.
    pub fn infer(&self, context: &Context) -> Result<TensorType, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        self.dimensions(data.shape.len())?;
        Ok(data.clone())
    }

    /// The dimensions that are combined, which follow one another.
    pub fn dimensions(&self, rank: usize) -> Result<Vec<usize>, InferError> {
        let axis = axes::dimension(self.axis, rank)?;
        Ok(if self.onward { (axis..rank).collect() } else { vec![axis] })
    }

    /// See [`Operator::follows`](crate::ops::Operator::follows).
    pub fn follows(&self, context: &Context, dimension: usize) -> Option<usize> {
        let combined = self.dimensions(context.accepted(0).shape.len()).ok()?;
        (!combined.contains(&dimension)).then_some(dimension)
    }

    /// Over the axis alone.
    pub fn along(axis: usize) -> Self {
        Self { axis: axis as i64, onward: false }
    }

    /// Appends the largest element along the dimensions, the sum of the exponentials of the distances to it, and at last
    /// `result` of an element's distance and that sum. Only the result is rounded to a type of 16 bits.
    pub fn lower(
        &self,
        context: &Context,
        input: TensorId,
        program: &mut ProgramBuilder,
        result: impl FnOnce(Scalar, Scalar) -> Scalar,
    ) -> TensorId {
        let data = context.accepted(0).clone();
        let dimensions = self.dimensions(data.shape.len()).expect("inference accepted the axis");
        let kept = compose::kept(&data.shape, &dimensions);
        let largest = program.with_ties(Ties::Cancelled, |program| {
            reduction::along(program, input, &dimensions, &kept, Reducer::Maximum, |_| None)
        });

        let wide = data.element.compute();
        let mut expr = ExprBuilder::new();
        let (x, _) = reduction::read_along(&mut expr, &data, &dimensions, &kept);
        let operand = expr.operand(program.ty(largest));
        let peak = expr.broadcast_read(operand, &expr.parallel_axes());
        let [x, peak] = [x, peak].map(|value| value.cast(data.element, wide));
        let exponential = x.binary(BinaryOp::Subtract, peak).unary(UnaryOp::Exp);
        let total = program.compute(expr.reduce(wide, Reducer::Sum, exponential, None), &[input, largest]);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let mut read = |tensor: TensorId| {
            let ty = program.ty(tensor);
            let operand = expr.operand(ty);
            expr.broadcast_read(operand, &axes).cast(ty.element, wide)
        };
        let distance = read(input).binary(BinaryOp::Subtract, read(largest));
        let body = result(distance, read(total)).cast(wide, data.element);
        program.compute(expr.map(data.element, body), &[input, largest, total])
    }
}
