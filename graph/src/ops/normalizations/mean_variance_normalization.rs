//! `MeanVarianceNormalization`: mean 0 and variance 1 along axes.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Scalar, UnaryOp};
use crate::ops::normalization::moments;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// `(x − mean) / (√variance + 10⁻⁹)` with mean and variance along axes: without others all but the second.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeanVarianceNormalization {
    axes: Vec<i64>,
}

/// What ONNX's function adds to the deviation.
const EPSILON: f64 = 1e-9;

impl Operator for MeanVarianceNormalization {
    const NAME: &'static str = "MeanVarianceNormalization";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axes: attributes.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axes", Attribute::Ints(self.axes.clone()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        if axes::dimensions(&self.axes, data.shape.len())?.is_empty() {
            return Err(InferError::Unsupported("a normalisation along no axis is not supported".to_owned()));
        }
        Ok(vec![data.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (input, data) = (inputs[0].expect("inference found the input"), context.accepted(0).clone());
        let dimensions = axes::dimensions(&self.axes, data.shape.len()).expect("inference accepted the axes");
        let moments = moments(program, input, &dimensions);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let [x, mean, variance] = [input, moments.mean, moments.variance].map(|tensor| {
            let ty = program.ty(tensor);
            let operand = expr.operand(ty);
            expr.broadcast_read(operand, &axes).cast(ty.element, moments.element)
        });
        let epsilon = Scalar::literal(moments.element, EPSILON);
        let deviation = variance.unary(UnaryOp::Sqrt).binary(BinaryOp::Add, epsilon);
        let body = x.binary(BinaryOp::Subtract, mean).binary(BinaryOp::Divide, deviation);
        let expr = expr.map(data.element, body.cast(moments.element, data.element));
        vec![program.compute(expr, &[input, moments.mean, moments.variance])]
    }
}
