//! `Cosh`: hyperbolic cosine.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::hyperbolic::half_exponential;
use crate::ops::{AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// (eˣ + e⁻ˣ) / 2, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cosh;

impl ElementWise for Cosh {
    const NAME: &'static str = "Cosh";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let [up, down] = [x.clone(), x.unary(UnaryOp::Negate)].map(|power| half_exponential(element, power));
        up.binary(BinaryOp::Add, down)
    }
}
