//! `com.microsoft.FusedMatMul`: a scaled matrix product of transposed operands.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::matmul::MatMul;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, broadcast, elementwise, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// NumPy's matrix product of the operands, of which the last two dimensions are exchanged where the attributes say so, times a
/// factor. Batches that are transposed are not supported.
#[derive(Clone, PartialEq, Debug)]
pub struct FusedMatMul {
    alpha: f32,
    transposed: [bool; 2],
}

/// Where the dimensions of an operand come from.
fn permutation(rank: usize, transposed: bool) -> Vec<usize> {
    let mut permutation: Vec<usize> = (0..rank).collect();
    if transposed && rank >= 2 {
        permutation.swap(rank - 2, rank - 1);
    }
    permutation
}

impl FusedMatMul {
    fn facts(&self, context: &Context) -> Result<Vec<Option<Fact>>, InferError> {
        let fact = |input: usize| {
            let ty = context.tensor(input)?;
            elementwise::floating(ty.element)?;
            let extents = permutation(ty.shape.len(), self.transposed[input]).into_iter().map(|at| ty.shape[at]);
            let ty = TensorType { element: ty.element, shape: extents.collect() };
            Ok(Some(Fact { ty: ty.into(), value: None }))
        };
        (0..2).map(fact).collect()
    }
}

impl Operator for FusedMatMul {
    const NAME: &'static str = "FusedMatMul";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        for name in ["transBatchA", "transBatchB"] {
            if attributes.flag(name)? == Some(true) {
                return Err(AttributeError::Value { name, reason: "only 0 is supported".to_owned() });
            }
        }
        let alpha = attributes.float("alpha")?.unwrap_or(1.0);
        let left = attributes.flag("transA")?.unwrap_or(false);
        Ok(Self { alpha, transposed: [left, attributes.flag("transB")?.unwrap_or(false)] })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let [left, right] = self.transposed.map(|transposed| Attribute::Int(i64::from(transposed)));
        vec![("alpha", Attribute::Float(self.alpha)), ("transA", left), ("transB", right)]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        MatMul.infer(&Context::new(&self.facts(context)?, 1))
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let operands = [0, 1].map(|input: usize| {
            let permutation = permutation(context.accepted(input).shape.len(), self.transposed[input]);
            inputs[input].map(|operand| movement::transpose(program, operand, &permutation))
        });
        let product = program.apply(&MatMul, &operands, 1);
        if self.alpha == 1.0 {
            return product;
        }
        let element = context.accepted(0).element;
        let alpha = Scalar::literal(element, f64::from(self.alpha));
        vec![broadcast::map(&[Some(product[0])], program, element, |mut x| {
            x.remove(0).binary(BinaryOp::Multiply, alpha)
        })]
    }
}
