//! `Sigmoid`: 1 / (1 + e⁻ˣ).

use crate::expr::Scalar;
use crate::ops::elementwise::{ElementWise, floating, operands, sigmoid};
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// 1 / (1 + e⁻ˣ), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sigmoid;

impl ElementWise for Sigmoid {
    const NAME: &'static str = "Sigmoid";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        sigmoid(element, x)
    }
}
