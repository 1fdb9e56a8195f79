//! `Multinomial`: classes drawn with given probabilities.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use crate::ops::cum_sum::CumSum;
use crate::ops::random::{self, Source};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, compose, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// Classes of `[N, classes]` logarithms of probabilities, which need not sum to 1, drawn so many times for each of N.
/// Each draw is the first class up to which the probabilities exceed a uniformly distributed number. Numbers are
/// those of this crate for a seed, not ONNX Runtime's.
#[derive(Clone, PartialEq, Debug)]
pub struct Multinomial {
    source: Source,
    samples: usize,
    element: ElementType,
}

/// Most samples that are drawn for each.
const LIMIT: i64 = 1 << 20;

impl Operator for Multinomial {
    const NAME: &'static str = "Multinomial";
    const OPSETS: RangeInclusive<i64> = 7..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let wrong = |name: &'static str, reason: String| AttributeError::Value { name, reason };
        let samples = attributes.int("sample_size")?.unwrap_or(1);
        if !(1..=LIMIT).contains(&samples) {
            return Err(wrong("sample_size", format!("{samples} lies outside 1..{LIMIT}")));
        }
        let element = random::dtype(attributes)?.unwrap_or(ElementType::I32);
        if !matches!(element, ElementType::I32 | ElementType::I64) {
            return Err(wrong("dtype", format!("classes of {element} are not possible")));
        }
        Ok(Self { source: Source::from_attributes(attributes)?, samples: samples as usize, element })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let samples = ("sample_size", Attribute::Int(self.samples as i64));
        [self.source.attribute(), samples].into_iter().chain(random::dtype_attribute(Some(self.element))).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        let batch = match &data.shape[..] {
            &[batch, classes] if classes > 0 => batch,
            _ => return Err(InferError::Mismatch(format!("{data} has no probabilities of classes"))),
        };
        Ok(vec![random::countable(TensorType::new(self.element, [batch, self.samples]))?.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (input, output) = (inputs[0].expect("inference found the input"), self.output(context));
        let classes = context.accepted(0).shape[1];
        let logarithms = compose::cast(program, input, ElementType::F32);
        let largest = compose::reduce(program, logarithms, &[1], Reducer::Maximum);
        let parts = compose::map(program, [logarithms, largest], ElementType::F32, |[x, peak]| {
            x.binary(BinaryOp::Subtract, peak).unary(UnaryOp::Exp)
        });
        let axis = program.constant(Tensor::scalar(1i64));
        let sums = program.apply(&CumSum::plain(), &[Some(parts), Some(axis)], 1)[0];

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let class = expr.reduced(classes);
        let operand = expr.operand(program.ty(sums));
        let sum = expr.read(operand, vec![Index::axis(axes[0]), Index::axis(class)]);
        let total = expr.read(operand, vec![Index::axis(axes[0]), Index::constant(classes as i64 - 1)]);
        let drawn = self.source.uniform(&axes, &output.shape, 0, false).binary(BinaryOp::Multiply, total);
        // The classes whose sums do not exceed the number; a product that rounds up to the total is in the last class.
        let number = |value: i64| Scalar::literal(self.element, value as f64);
        let body = sum.binary(BinaryOp::LessEqual, drawn).select(number(1), number(0));
        let inside = Scalar::Reduced.binary(BinaryOp::Minimum, number(classes as i64 - 1));
        vec![program.compute(expr.reduce(self.element, Reducer::Sum, body, Some(inside)), &[sums])]
    }
}
