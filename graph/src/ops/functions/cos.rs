//! `Cos`: the cosine.

use crate::expr::{Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// The cosine, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cos;

impl ElementWise for Cos {
    const NAME: &'static str = "Cos";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Cos)
    }
}
