//! `com.microsoft.FastGelu`: the Gaussian error linear unit by the hyperbolic tangent.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, fold};
use crate::ops::gelu::Gelu;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// ½ s (1 + tanh(√(2/π) (s + 0.044715 s³))) of the sum s of data and an optional bias, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FastGelu;

impl ElementWise for FastGelu {
    const NAME: &'static str = "FastGelu";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        Gelu::Tanh.body(element, vec![fold(BinaryOp::Add, inputs)])
    }
}
