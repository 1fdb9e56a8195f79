//! `Sin`: the sine.

use crate::expr::{Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// The sine, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sin;

impl ElementWise for Sin {
    const NAME: &'static str = "Sin";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Sin)
    }
}
