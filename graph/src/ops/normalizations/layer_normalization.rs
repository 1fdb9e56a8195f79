//! `LayerNormalization`: normalisation over the last dimensions.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Scalar, UnaryOp};
use crate::ops::normalization::{moments, normalised, precision};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, broadcast, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// `(x − mean) / √(variance + epsilon) · scale + bias` with mean and variance over the dimensions from an axis on. Mean
/// and reciprocal deviation are optional outputs. ONNX has it from opset 17 on; ONNX Runtime's optimizer writes it into models of
/// older ones.
#[derive(Clone, PartialEq, Debug)]
pub struct LayerNormalization {
    axis: i64,
    epsilon: f32,
}

impl LayerNormalization {
    /// The normalisation along the last dimension.
    pub(in crate::ops) fn along_last(epsilon: f32) -> Self {
        Self { axis: -1, epsilon }
    }
}

impl Operator for LayerNormalization {
    const NAME: &'static str = "LayerNormalization";
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let stash = attributes.int("stash_type")?.unwrap_or(1);
        if stash != 1 {
            let reason = format!("statistics of type {stash} are not supported");
            return Err(AttributeError::Value { name: "stash_type", reason });
        }
        let axis = attributes.int("axis")?.unwrap_or(-1);
        Ok(Self { axis, epsilon: attributes.float("epsilon")?.unwrap_or(1e-5) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis)), ("epsilon", Attribute::Float(self.epsilon))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        let axis = axes::dimension(self.axis, data.shape.len())?;
        for parameter in [Some(context.tensor(1)?), context.optional(2)?].into_iter().flatten() {
            let fits = broadcast::shapes(&parameter.shape, &data.shape).is_ok_and(|shape| shape == data.shape);
            if parameter.element != data.element || !fits {
                return Err(InferError::Mismatch(format!("{parameter} does not broadcast to {data}")));
            }
        }
        let extents = data.shape.iter().enumerate().map(|(at, &extent)| if at < axis { extent } else { 1 });
        let statistics = TensorType { element: precision(data.element), shape: extents.collect::<Shape>() };
        let all = [data.clone(), statistics.clone(), statistics];
        Ok(all.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let axis = axes::dimension(self.axis, context.accepted(0).shape.len()).ok()?;
        (input == 0 && dimension < axis).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0).clone();
        let axis = axes::dimension(self.axis, data.shape.len()).expect("inference accepted the axis");
        let dimensions: Vec<usize> = (axis..data.shape.len()).collect();
        let given: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let moments = moments(program, given[0], &dimensions);
        let operands: Vec<TensorId> =
            [given[0], moments.mean, moments.variance].into_iter().chain(given[1..].iter().copied()).collect();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let reads = operands.iter().map(|&tensor| {
            let ty = program.ty(tensor);
            let operand = expr.operand(ty);
            expr.broadcast_read(operand, &axes).cast(ty.element, moments.element)
        });
        let mut reads = reads.collect::<Vec<Scalar>>().into_iter();
        let mut next = || reads.next();
        let (Some(x), Some(mean), Some(variance)) = (next(), next(), next()) else {
            unreachable!("the data and its moments are read")
        };
        let mut body = normalised(x, mean, variance, moments.element, self.epsilon);
        body = next().into_iter().fold(body, |body, scale| body.binary(BinaryOp::Multiply, scale));
        body = next().into_iter().fold(body, |body, bias| body.binary(BinaryOp::Add, bias));
        let result = expr.map(data.element, body.cast(moments.element, data.element));
        let mut outputs = vec![program.compute(result, &operands), moments.mean];
        if context.outputs() > 2 {
            let ty = program.ty(moments.variance).clone();
            let mut expr = ExprBuilder::new();
            let axes = expr.parallels(&ty.shape);
            let operand = expr.operand(&ty);
            let literal = |value| Scalar::literal(ty.element, value);
            let shifted = expr.broadcast_read(operand, &axes).binary(BinaryOp::Add, literal(f64::from(self.epsilon)));
            let body = literal(1.0).binary(BinaryOp::Divide, shifted.unary(UnaryOp::Sqrt));
            outputs.push(program.compute(expr.map(ty.element, body), &[moments.variance]));
        }
        outputs
    }
}
