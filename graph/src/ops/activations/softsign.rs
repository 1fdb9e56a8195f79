//! `Softsign`: x / (1 + |x|).

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// x / (1 + |x|), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Softsign;

impl ElementWise for Softsign {
    const NAME: &'static str = "Softsign";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let one = Scalar::literal(element, 1.0);
        x.clone().binary(BinaryOp::Divide, one.binary(BinaryOp::Add, x.unary(UnaryOp::Absolute)))
    }
}
