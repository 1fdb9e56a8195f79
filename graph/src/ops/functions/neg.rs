//! `Neg`: −x.

use crate::expr::{Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// −x, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neg;

impl ElementWise for Neg {
    const NAME: &'static str = "Neg";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Negate)
    }
}
