//! `Bernoulli`: ones with given probabilities.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index};
use crate::ops::random::{self, Source};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// 1 with the probability that an element is, 0 otherwise.
#[derive(Clone, PartialEq, Debug)]
pub struct Bernoulli {
    source: Source,
    element: Option<ElementType>,
}

impl Operator for Bernoulli {
    const NAME: &'static str = "Bernoulli";
    const OPSETS: RangeInclusive<i64> = 15..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { source: Source::from_attributes(attributes)?, element: random::dtype(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        [self.source.attribute()].into_iter().chain(random::dtype_attribute(self.element)).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        let element = self.element.unwrap_or(data.element);
        Ok(vec![random::countable(TensorType { element, shape: data.shape.clone() })?.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, output) = (context.accepted(0), self.output(context));
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let operand = expr.operand(data);
        let probability = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect());
        let drawn = self.source.uniform(&axes, &data.shape, 0, false).cast(ElementType::F32, data.element);
        let body = drawn.binary(BinaryOp::Less, probability).cast(ElementType::Bool, output.element);
        vec![program.compute(expr.map(output.element, body), &[inputs[0].expect("inference found the input")])]
    }
}
