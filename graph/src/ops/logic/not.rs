//! `Not`: logical not.

use crate::expr::{Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, operands, truth};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// Logical not, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Not;

impl ElementWise for Not {
    const NAME: &'static str = "Not";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        truth(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Not)
    }
}
