//! `MaxPool`: the largest element of every window.

use std::ops::RangeInclusive;

use super::pool::Pool;
use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::expr::{Literal, Reducer};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The largest element of every window; padding never wins. The optional output of places is not supported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MaxPool {
    pool: Pool,
}

impl Operator for MaxPool {
    const NAME: &'static str = "MaxPool";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        attributes.flag("storage_order")?;
        Ok(Self { pool: Pool::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.pool.window.attributes();
        attributes.push(("ceil_mode", Attribute::Int(i64::from(self.pool.round_up))));
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        if context.outputs() > 1 {
            return Err(InferError::Unsupported("the output of places is not supported".to_owned()));
        }
        elementwise::number(context.tensor(0)?.element)?;
        Ok(vec![self.pool.infer(context)?.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let fill = Literal::lowest(context.accepted(0).element);
        vec![self.pool.reduce(context, data, program, Reducer::Maximum, fill, |_, _, _| None)]
    }
}
