//! `Reciprocal`: 1 / x.

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// 1 / x, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reciprocal;

impl ElementWise for Reciprocal {
    const NAME: &'static str = "Reciprocal";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        Scalar::literal(element, 1.0).binary(BinaryOp::Divide, x)
    }
}
