//! `RMSNormalization`: scaling by the root mean square.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Reducer, Scalar, UnaryOp};
use crate::ops::normalization::precision;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::ops::{axes, broadcast, elementwise, reduction};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, ValueType};

/// `x / √(mean of x² + epsilon) · scale` with the mean over the dimensions from an axis on.
#[derive(Clone, PartialEq, Debug)]
pub struct RmsNormalization {
    axis: i64,
    epsilon: f32,
}

impl RmsNormalization {
    /// The normalisation along the last dimension.
    pub(in crate::ops) fn along_last(epsilon: f32) -> Self {
        Self { axis: -1, epsilon }
    }

    /// Appends the scaled data, and what they are divided by.
    pub(in crate::ops) fn scaled_and_root(
        &self,
        context: &Context,
        inputs: &[Option<TensorId>],
        program: &mut ProgramBuilder,
    ) -> [TensorId; 2] {
        let data = context.accepted(0).clone();
        let element = precision(data.element);
        let given: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let axis = axes::dimension(self.axis, data.shape.len()).expect("inference accepted the axis");
        let dimensions: Vec<usize> = (axis..data.shape.len()).collect();
        let kept: Shape =
            data.shape.iter().enumerate().map(|(at, &extent)| if at < axis { extent } else { 1 }).collect();
        let literal = |value| Scalar::literal(element, value);

        let mut expr = ExprBuilder::new();
        let (x, count) = reduction::read_along(&mut expr, &data, &dimensions, &kept);
        let x = x.cast(data.element, element);
        let mean = Scalar::Reduced.binary(BinaryOp::Divide, literal(count as f64));
        let root = mean.binary(BinaryOp::Add, literal(f64::from(self.epsilon))).unary(UnaryOp::Sqrt);
        let square = x.clone().binary(BinaryOp::Multiply, x);
        let root = program.compute(expr.reduce(element, Reducer::Sum, square, Some(root)), &given[..1]);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let mut read = |tensor: TensorId| {
            let ty = program.ty(tensor);
            let operand = expr.operand(ty);
            expr.broadcast_read(operand, &axes).cast(ty.element, element)
        };
        let scaled = read(given[0]).binary(BinaryOp::Divide, read(root)).binary(BinaryOp::Multiply, read(given[1]));
        let scaled = expr.map(data.element, scaled.cast(element, data.element));
        [program.compute(scaled, &[given[0], root, given[1]]), root]
    }
}

impl Operator for RmsNormalization {
    const NAME: &'static str = "RMSNormalization";
    const OPSETS: RangeInclusive<i64> = 23..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        if attributes.int("stash_type")?.is_some_and(|stash| stash != 1) {
            let reason = "only single precision is supported".to_owned();
            return Err(AttributeError::Value { name: "stash_type", reason });
        }
        let axis = attributes.int("axis")?.unwrap_or(-1);
        Ok(Self { axis, epsilon: attributes.float("epsilon")?.unwrap_or(1e-5) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis)), ("epsilon", Attribute::Float(self.epsilon))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, scale) = (context.tensor(0)?, context.tensor(1)?);
        elementwise::floating(data.element)?;
        axes::dimension(self.axis, data.shape.len())?;
        let fits = broadcast::shapes(&scale.shape, &data.shape).is_ok_and(|shape| shape == data.shape);
        if scale.element != data.element || !fits {
            return Err(InferError::Mismatch(format!("{scale} does not broadcast to {data}")));
        }
        Ok(vec![data.clone().into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let axis = axes::dimension(self.axis, context.accepted(0).shape.len()).ok()?;
        (input == 0 && dimension < axis).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let [scaled, _] = self.scaled_and_root(context, inputs, program);
        vec![scaled]
    }
}
