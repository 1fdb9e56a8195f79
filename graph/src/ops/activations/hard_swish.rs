//! `HardSwish`: x · max(0, min(1, x / 6 + ½)).

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::program::Ties;
use crate::types::ElementType;

/// x · max(0, min(1, x / 6 + ½)), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HardSwish;

impl ElementWise for HardSwish {
    const NAME: &'static str = "HardSwish";
    const TIES: Ties = Ties::Last;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let literal = |value| Scalar::literal(element, value);
        let line = x.clone().binary(BinaryOp::Multiply, literal(1.0 / 6.0)).binary(BinaryOp::Add, literal(0.5));
        let gate = line.binary(BinaryOp::Minimum, literal(1.0)).binary(BinaryOp::Maximum, literal(0.0));
        x.binary(BinaryOp::Multiply, gate)
    }
}
