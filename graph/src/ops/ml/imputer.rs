//! `Imputer` of the domain `ai.onnx.ml`: missing features replaced.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::rows::check_each;
use crate::expr::{BinaryOp, Literal, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// Features of the last dimension, of which those that have a certain value, or are no number if that is none, are
/// replaced. They are replaced by one value, or by one for each.
#[derive(Clone, PartialEq, Debug)]
pub struct Imputer {
    missing: f32,
    missing_integer: i64,
    floats: Vec<f32>,
    integers: Vec<i64>,
}

impl Operator for Imputer {
    const NAME: &'static str = "Imputer";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self {
            missing: attributes.float("replaced_value_float")?.unwrap_or(0.0),
            missing_integer: attributes.int("replaced_value_int64")?.unwrap_or(0),
            floats: attributes.floats("imputed_value_floats")?.unwrap_or_default(),
            integers: attributes.ints("imputed_value_int64s")?.unwrap_or_default(),
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("replaced_value_float", Attribute::Float(self.missing)),
            ("replaced_value_int64", Attribute::Int(self.missing_integer)),
            ("imputed_value_floats", Attribute::Floats(self.floats.clone())),
            ("imputed_value_int64s", Attribute::Ints(self.integers.clone())),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        let count = if data.element.is_float() { self.floats.len() } else { self.integers.len() };
        check_each(context, count, "imputed_value")?;
        Ok(vec![data.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let input = inputs[0].expect("inference found the input");
        let (values, missing): (Tensor, Literal) = if element.is_float() {
            let values: Vec<f64> = self.floats.iter().map(|&value| f64::from(value)).collect();
            let ty = TensorType::new(element, [values.len()]);
            (Tensor::from_f64(ty, &values), Literal::new(element, f64::from(self.missing)))
        } else {
            let ty = TensorType::new(element, [self.integers.len()]);
            (Tensor::from_i64(ty, &self.integers), Literal::integer(element, self.missing_integer))
        };
        let values = program.constant(values);
        vec![compose::map(program, [input, values], element, |[x, value]| {
            let is_missing = if element.is_float() && self.missing.is_nan() {
                let is_number = x.clone().binary(BinaryOp::Equal, x.clone());
                is_number.select(Scalar::literal(ElementType::Bool, 0.0), Scalar::literal(ElementType::Bool, 1.0))
            } else {
                x.clone().binary(BinaryOp::Equal, Scalar::Literal(missing))
            };
            is_missing.select(value, x)
        })]
    }
}
