//! `com.microsoft.BiasAdd`: a bias and a residual added.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, fold};
use crate::ops::microsoft::DOMAIN;
use crate::ops::{AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// The sum of data `[batch, places, width]`, a bias `[width]` and a residual like the data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BiasAdd;

impl ElementWise for BiasAdd {
    const NAME: &'static str = "BiasAdd";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, _: ElementType, inputs: Vec<Scalar>) -> Scalar {
        fold(BinaryOp::Add, inputs)
    }
}
