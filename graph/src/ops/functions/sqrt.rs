//! `Sqrt`: the square root.

use crate::expr::{Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// √x, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sqrt;

impl ElementWise for Sqrt {
    const NAME: &'static str = "Sqrt";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Sqrt)
    }
}
