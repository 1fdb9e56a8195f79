//! `com.microsoft.MatMulIntegerToFloat`: the matrix product of bytes, as singles.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::matmul_integer::MatMulInteger;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, Context, Fact, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// NumPy's matrix product of integers less their zero points, times both scales, plus the optional bias. The inputs are a, b, their
/// scales, of which that of b may be one a column, their zero points, and the bias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatMulIntegerToFloat;

const SCALES: [usize; 2] = [2, 3];
const BIAS: usize = 6;

/// The factors and their zero points, as the integers' product has them.
fn factors<T: Clone>(input: impl Fn(usize) -> Option<T>) -> Vec<Option<T>> {
    [0, 1, 4, 5].into_iter().map(input).collect()
}

/// Checks that scales, or a bias, are singles that broadcast to the product.
pub(super) fn check_singles(context: &Context, product: &TensorType, inputs: &[usize]) -> Result<(), InferError> {
    for &input in inputs {
        let Some(ty) = context.optional(input)? else { continue };
        let fits = broadcast::shapes(&ty.shape, &product.shape).as_ref() == Ok(&product.shape) && ty.shape.len() <= 1;
        if ty.element != ElementType::F32 || !fits {
            return Err(InferError::Unsupported(format!(
                "input {input} is {ty}, which does not broadcast along columns"
            )));
        }
    }
    Ok(())
}

/// Appends the product of 32 bits times two scales, plus the optional bias.
pub(super) fn scaled(
    program: &mut ProgramBuilder,
    product: TensorId,
    [left, right]: [Option<TensorId>; 2],
    bias: Option<TensorId>,
) -> TensorId {
    let operands: Vec<Option<TensorId>> = [Some(product), left, right].into_iter().chain(bias.map(Some)).collect();
    broadcast::map(&operands, program, ElementType::F32, |operands| {
        let mut operands = operands.into_iter();
        let mut next = || operands.next();
        let (sum, (left, right)) = next().zip(next().zip(next())).expect("product and scales are operands");
        let scale = left.binary(BinaryOp::Multiply, right);
        let scaled = sum.cast(ElementType::I32, ElementType::F32).binary(BinaryOp::Multiply, scale);
        next().into_iter().fold(scaled, |scaled: Scalar, bias| scaled.binary(BinaryOp::Add, bias))
    })
}

impl Operator for MatMulIntegerToFloat {
    const NAME: &'static str = "MatMulIntegerToFloat";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 4..=7;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let facts: Vec<Option<Fact>> = factors(|input| context.fact(input).cloned());
        let types = MatMulInteger.infer(&Context::new(&facts, 1))?;
        let sums = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        let product = TensorType { element: ElementType::F32, shape: sums.shape.clone() };
        SCALES.iter().try_for_each(|&input| context.tensor(input).map(|_| ()))?;
        check_singles(context, &product, &[SCALES[0], SCALES[1], BIAS])?;
        Ok(vec![product.into()])
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let input = |at: usize| inputs.get(at).copied().flatten();
        let product = program.apply(&MatMulInteger, &factors(input), 1)[0];
        vec![scaled(program, product, SCALES.map(input), input(BIAS))]
    }
}
