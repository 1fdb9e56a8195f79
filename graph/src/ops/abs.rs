//! `Abs`: |x|.

use super::elementwise::{ElementWise, number, operands};
use super::{AttributeError, AttributeReader, InferError};
use crate::expr::{Scalar, UnaryOp};
use crate::types::ElementType;

/// |x|, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Abs;

impl ElementWise for Abs {
    const NAME: &'static str = "Abs";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Absolute)
    }
}
