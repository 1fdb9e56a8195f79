//! `Floor`: ⌊x⌋.

use crate::expr::{Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// ⌊x⌋, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Floor;

impl ElementWise for Floor {
    const NAME: &'static str = "Floor";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        x.unary(UnaryOp::Floor)
    }
}
