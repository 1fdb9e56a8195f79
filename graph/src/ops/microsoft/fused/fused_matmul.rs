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
/// factor. Where others say so, the first dimension of an operand stands behind those of its batches before that.
#[derive(Clone, PartialEq, Debug)]
pub struct FusedMatMul {
    alpha: f32,
    operands: [Moved; 2],
}

/// How the dimensions of an operand are moved.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Moved {
    /// The last two dimensions are exchanged.
    transposed: bool,
    /// The first dimension is the last but one.
    first_last: bool,
}

impl Moved {
    /// Where the dimensions of the operand come from.
    fn permutation(self, rank: usize) -> Vec<usize> {
        let mut permutation: Vec<usize> = (0..rank).collect();
        if rank < 2 {
            return permutation;
        }
        if self.first_last {
            permutation[..rank - 1].rotate_left(1);
        }
        if self.transposed {
            permutation.swap(rank - 2, rank - 1);
        }
        permutation
    }
}

impl FusedMatMul {
    fn facts(&self, context: &Context) -> Result<Vec<Option<Fact>>, InferError> {
        let fact = |input: usize| {
            let ty = context.tensor(input)?;
            elementwise::floating(ty.element)?;
            let extents = self.operands[input].permutation(ty.shape.len()).into_iter().map(|at| ty.shape[at]);
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
        let mut flag = |name| Ok(attributes.flag(name)?.unwrap_or(false));
        let left = Moved { transposed: flag("transA")?, first_last: flag("transBatchA")? };
        let right = Moved { transposed: flag("transB")?, first_last: flag("transBatchB")? };
        Ok(Self { alpha: attributes.float("alpha")?.unwrap_or(1.0), operands: [left, right] })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let [left, right] = self.operands;
        let flags = [
            ("transA", left.transposed),
            ("transB", right.transposed),
            ("transBatchA", left.first_last),
            ("transBatchB", right.first_last),
        ];
        let flags = flags.map(|(name, flag)| (name, Attribute::Int(i64::from(flag))));
        [("alpha", Attribute::Float(self.alpha))].into_iter().chain(flags).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        MatMul.infer(&Context::new(&self.facts(context)?, 1))
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let moved = self.operands[input].permutation(context.accepted(input).shape.len());
        let place = moved.iter().position(|&from| from == dimension)?;
        MatMul.follows(&Context::new(&self.facts(context).ok()?, 1), input, place)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let operands = [0, 1].map(|input: usize| {
            let permutation = self.operands[input].permutation(context.accepted(input).shape.len());
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
