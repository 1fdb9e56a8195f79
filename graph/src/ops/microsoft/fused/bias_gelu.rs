//! `com.microsoft.BiasGelu`: the Gaussian error linear unit of a sum.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, fold};
use crate::ops::gelu::Gelu;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// ½ s (1 + erf(s / √2)) of the sum s of data and bias, broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BiasGelu;

impl ElementWise for BiasGelu {
    const NAME: &'static str = "BiasGelu";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        Gelu::Exact.body(element, vec![fold(BinaryOp::Add, inputs)])
    }
}
