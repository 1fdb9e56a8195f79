//! `com.microsoft.Gelu`: the Gaussian error linear unit.

use crate::expr::Scalar;
use crate::ops::elementwise::{ElementWise, floating};
use crate::ops::gelu::Gelu;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// ½ x (1 + erf(x / √2)), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExactGelu;

impl ElementWise for ExactGelu {
    const NAME: &'static str = "Gelu";
    const DOMAIN: &'static str = DOMAIN;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        Gelu::Exact.body(element, inputs)
    }
}
