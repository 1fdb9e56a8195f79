//! `Dropout`: the input, in inference.

use std::ops::RangeInclusive;

use super::{Attribute, AttributeError, AttributeReader, Context, FLOAT8, InferError, Operator};
use crate::expr::{ExprBuilder, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The input, unchanged, with a mask that keeps everything; training is not supported.
#[derive(Clone, PartialEq, Debug)]
pub struct Dropout {
    ratio: Option<f32>,
    seed: Option<i64>,
}

impl Operator for Dropout {
    const NAME: &'static str = "Dropout";
    const INPUTS: RangeInclusive<usize> = 1..=3;
    const STORAGE: &'static [ElementType] = FLOAT8;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        if attributes.opset() < 7 && attributes.flag("is_test")? != Some(true) {
            let reason = "training is not supported: 1 is needed".to_owned();
            return Err(AttributeError::Value { name: "is_test", reason });
        }
        Ok(Self { ratio: attributes.float("ratio")?, seed: attributes.int("seed")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let ratio = self.ratio.map(|ratio| ("ratio", Attribute::Float(ratio)));
        let seed = self.seed.map(|seed| ("seed", Attribute::Int(seed)));
        ratio.into_iter().chain(seed).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        if context.integers(2)?.is_some_and(|training| training.iter().any(|&flag| flag != 0)) {
            return Err(InferError::Unsupported("training mode is not supported".to_owned()));
        }
        let ty = context.tensor(0)?.clone();
        let mask = TensorType { element: ElementType::Bool, shape: ty.shape.clone() };
        Ok([ty, mask].into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let mut outputs: Vec<TensorId> = inputs.iter().take(1).flatten().copied().collect();
        if context.outputs() > 1 {
            let mut mask = ExprBuilder::new();
            mask.parallels(&context.accepted(0).shape);
            outputs.push(program.compute(mask.map(ElementType::Bool, Scalar::literal(ElementType::Bool, 1.0)), &[]));
        }
        outputs
    }
}
