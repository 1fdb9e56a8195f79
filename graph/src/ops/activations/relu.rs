//! `Relu`: max(x, 0).

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::program::Ties;
use crate::types::ElementType;

/// max(x, 0), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relu;

impl ElementWise for Relu {
    const NAME: &'static str = "Relu";
    const TIES: Ties = Ties::Last;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.binary(BinaryOp::Maximum, Scalar::literal(element, 0.0))
    }
}
