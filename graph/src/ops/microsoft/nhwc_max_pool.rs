//! `com.microsoft.NhwcMaxPool`: the largest element of every window, channels last.

use std::ops::RangeInclusive;

use super::DOMAIN;
use crate::ops::max_pool::MaxPool;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// `MaxPool` of `[N, …, C]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NhwcMaxPool {
    pool: MaxPool,
}

/// Where the dimensions come from if the last becomes the second, and the reverse of that.
fn permutations(rank: usize) -> [Vec<usize>; 2] {
    let first = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    let back = [0].into_iter().chain(2..rank).chain([1]).collect();
    [first, back]
}

impl Operator for NhwcMaxPool {
    const NAME: &'static str = "NhwcMaxPool";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { pool: MaxPool::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.pool.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        if data.shape.len() < 3 {
            return Err(InferError::Mismatch(format!("{data} has no spatial dimensions to pool over")));
        }
        let permuted = |ty: &TensorType, permutation: &[usize]| TensorType {
            element: ty.element,
            shape: permutation.iter().map(|&at| ty.shape[at]).collect::<Shape>(),
        };
        let [first, back] = permutations(data.shape.len());
        let facts = [Some(Fact { ty: permuted(data, &first).into(), value: None })];
        let types = self.pool.infer(&Context::new(&facts, context.outputs()))?;
        let pooled = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        Ok(vec![permuted(pooled, &back).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let [first, back] = permutations(context.accepted(0).shape.len());
        let channels_second = movement::transpose(program, data, &first);
        let pooled = program.apply(&self.pool, &[Some(channels_second)], 1)[0];
        vec![movement::transpose(program, pooled, &back)]
    }
}
