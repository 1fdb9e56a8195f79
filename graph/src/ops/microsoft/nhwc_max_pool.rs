//! `com.microsoft.NhwcMaxPool`: the largest element of every window, channels last.

use std::ops::RangeInclusive;

use super::DOMAIN;
use crate::ops::channels_last::Channels;
use crate::ops::max_pool::MaxPool;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// `MaxPool` of `[N, …, C]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NhwcMaxPool {
    pool: MaxPool,
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
        let ty = Channels::Last.second(context.tensor(0)?)?;
        let facts = [Some(Fact { ty: ty.into(), value: None })];
        let types = self.pool.infer(&Context::new(&facts, 1))?;
        let pooled = types.first().and_then(ValueType::as_tensor).ok_or(InferError::NotTensor(0))?;
        Ok(vec![Channels::Last.back(pooled).into()])
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let channels_second = Channels::Last.move_second(program, data);
        let pooled = program.apply(&self.pool, &[Some(channels_second)], 1)[0];
        vec![Channels::Last.move_back(program, pooled)]
    }
}
