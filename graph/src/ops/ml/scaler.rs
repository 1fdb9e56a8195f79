//! `Scaler` of the domain `ai.onnx.ml`: features shifted and scaled.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::rows::{check_each, each_feature};
use crate::expr::BinaryOp;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// `(x − offset) · scale` in singles, with an offset and a scale for all features of the last dimension, or one for each.
#[derive(Clone, PartialEq, Debug)]
pub struct Scaler {
    offset: Vec<f32>,
    scale: Vec<f32>,
}

impl Operator for Scaler {
    const NAME: &'static str = "Scaler";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut values = |name: &'static str| attributes.floats(name)?.ok_or(AttributeError::Missing(name));
        Ok(Self { offset: values("offset")?, scale: values("scale")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("offset", Attribute::Floats(self.offset.clone())), ("scale", Attribute::Floats(self.scale.clone()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        check_each(context, self.offset.len(), "offset")?;
        check_each(context, self.scale.len(), "scale")?;
        Ok(vec![TensorType { element: ElementType::F32, shape: data.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let features = context.accepted(0).shape.last().copied().unwrap_or(1);
        let data = compose::cast(program, inputs[0].expect("inference found the input"), ElementType::F32);
        let offset = each_feature(program, &self.offset, features, ElementType::F32);
        let scale = each_feature(program, &self.scale, features, ElementType::F32);
        vec![compose::map(program, [data, offset, scale], ElementType::F32, |[x, offset, scale]| {
            x.binary(BinaryOp::Subtract, offset).binary(BinaryOp::Multiply, scale)
        })]
    }
}
