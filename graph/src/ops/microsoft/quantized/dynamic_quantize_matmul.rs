//! `com.microsoft.DynamicQuantizeMatMul`: the matrix product of numbers, quantised as they come, with bytes.

use std::ops::RangeInclusive;

use super::matmul_integer_to_float::{check_singles, scaled};
use crate::ops::dynamic_quantize_linear::DynamicQuantizeLinear;
use crate::ops::matmul_integer::MatMulInteger;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The first input as `DynamicQuantizeLinear` quantises it, multiplied with the second, times both scales, plus the optional bias.
/// The inputs are a, b, its scale and zero point, of which there is one or one a column, and the bias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicQuantizeMatMul;

const SCALE: usize = 2;
const ZERO: usize = 3;
const BIAS: usize = 4;

impl Operator for DynamicQuantizeMatMul {
    const NAME: &'static str = "DynamicQuantizeMatMul";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 3..=5;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let types = DynamicQuantizeLinear.infer(&Context::new(&[context.fact(0).cloned()], 3))?;
        let fact = |ty: &ValueType| Some(Fact { ty: ty.clone(), value: None });
        let facts = [fact(&types[0]), context.fact(1).cloned(), fact(&types[2]), context.fact(ZERO).cloned()];
        let types = MatMulInteger.infer(&Context::new(&facts, 1))?;
        let sums = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        let product = TensorType { element: ElementType::F32, shape: sums.shape.clone() };
        context.tensor(SCALE)?;
        check_singles(context, &product, &[SCALE, BIAS])?;
        Ok(vec![product.into()])
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let input = |at: usize| inputs.get(at).copied().flatten();
        let parts = program.apply(&DynamicQuantizeLinear, &inputs[..1], 3);
        let factors = [Some(parts[0]), input(1), Some(parts[2]), input(ZERO)];
        let product = program.apply(&MatMulInteger, &factors, 1)[0];
        vec![scaled(program, product, [Some(parts[1]), input(SCALE)], input(BIAS))]
    }
}
