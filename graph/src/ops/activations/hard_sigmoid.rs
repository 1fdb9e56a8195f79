//! `HardSigmoid`: max(0, min(1, αx + β)).

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::program::Ties;
use crate::types::ElementType;

/// max(0, min(1, αx + β)), element-wise.
#[derive(Clone, PartialEq, Debug)]
pub struct HardSigmoid {
    alpha: f32,
    beta: f32,
}

impl ElementWise for HardSigmoid {
    const NAME: &'static str = "HardSigmoid";
    const TIES: Ties = Ties::Last;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let alpha = attributes.float("alpha")?.unwrap_or(0.2);
        let beta = attributes.float("beta")?.unwrap_or(0.5);
        Ok(Self { alpha, beta })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("alpha", Attribute::Float(self.alpha)), ("beta", Attribute::Float(self.beta))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let literal = |value| Scalar::literal(element, value);
        let scaled = x.binary(BinaryOp::Multiply, literal(f64::from(self.alpha)));
        let line = scaled.binary(BinaryOp::Add, literal(f64::from(self.beta)));
        line.binary(BinaryOp::Minimum, literal(1.0)).binary(BinaryOp::Maximum, literal(0.0))
    }
}
