//! `MaxPool`: the largest element of every window.

use std::ops::RangeInclusive;

use crate::expr::{Literal, Reducer};
use crate::ops::pool::Pool;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The largest element of every window; padding never wins. The second output says where it stands, the first of
/// several. That is a place in the whole tensor, of which each channel is counted with its last dimension fastest, or
/// with its first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MaxPool {
    pool: Pool,
    /// Whether places are counted with the first spatial dimension fastest.
    first_fastest: bool,
}

impl Operator for MaxPool {
    const NAME: &'static str = "MaxPool";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let first_fastest = attributes.flag("storage_order")?.unwrap_or(false);
        Ok(Self { pool: Pool::from_attributes(attributes)?, first_fastest })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.pool.window.attributes();
        attributes.push(("ceil_mode", Attribute::Int(i64::from(self.pool.round_up))));
        attributes.extend(self.first_fastest.then_some(("storage_order", Attribute::Int(1))));
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        elementwise::number(context.tensor(0)?.element)?;
        let pooled = self.pool.infer(context)?;
        let places = TensorType { element: ElementType::I64, shape: pooled.shape.clone() };
        Ok([pooled, places].into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let fill = Literal::lowest(context.accepted(0).element);
        let largest = self.pool.reduce(context, data, program, Reducer::Maximum, fill, |_, _, _| None);
        if context.outputs() < 2 {
            return vec![largest];
        }
        vec![largest, self.pool.places(context, [data, largest], program, self.first_fastest)]
    }
}
