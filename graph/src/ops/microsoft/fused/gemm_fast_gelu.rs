//! `com.microsoft.GemmFastGelu`: a matrix product, and the Gaussian error linear unit of its elements.

use std::ops::RangeInclusive;

use crate::ops::matmul::MatMul;
use crate::ops::microsoft::DOMAIN;
use crate::ops::microsoft::fast_gelu::FastGelu;
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// `FastGelu` of what `MatMul` gives, and of an optional bias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GemmFastGelu;

impl Operator for GemmFastGelu {
    const NAME: &'static str = "GemmFastGelu";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let facts = [context.fact(0).cloned(), context.fact(1).cloned()];
        let types = MatMul.infer(&Context::new(&facts, 1))?;
        let product = types.first().and_then(ValueType::as_tensor).cloned().ok_or(InferError::NotTensor(0))?;
        elementwise::floating(product.element)?;
        let expected = TensorType::new(product.element, [product.shape.last().copied().unwrap_or(1)]);
        match context.optional(2)? {
            Some(bias) if *bias != expected => Err(InferError::Mismatch(format!("a bias of {bias} is not {expected}"))),
            Some(_) | None => Ok(vec![product.into()]),
        }
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let product = program.apply(&MatMul, &inputs[..2], 1)[0];
        let bias = inputs.get(2).copied().flatten();
        let operands: Vec<Option<TensorId>> = [Some(product)].into_iter().chain(bias.map(Some)).collect();
        program.apply(&FastGelu, &operands, 1)
    }
}
