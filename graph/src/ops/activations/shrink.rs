//! `Shrink`: values moved towards 0.

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// x + bias below −λ, x − bias above λ, and 0 between, element-wise. Integers are shrunk as singles and lose their fractions.
#[derive(Clone, PartialEq, Debug)]
pub struct Shrink {
    bias: f32,
    lambda: f32,
}

impl ElementWise for Shrink {
    const NAME: &'static str = "Shrink";
    const OPSETS: std::ops::RangeInclusive<i64> = 9..=NEWEST_OPSET;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { bias: attributes.float("bias")?.unwrap_or(0.0), lambda: attributes.float("lambd")?.unwrap_or(0.5) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("bias", Attribute::Float(self.bias)), ("lambd", Attribute::Float(self.lambda))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        let real = if element.is_float() { element } else { ElementType::F32 };
        let x = x.cast(element, real);
        let literal = |value: f32| Scalar::literal(real, f64::from(value));
        let below = x.clone().binary(BinaryOp::Less, literal(-self.lambda));
        let above = literal(self.lambda).binary(BinaryOp::Less, x.clone());
        let lowered = x.clone().binary(BinaryOp::Subtract, literal(self.bias));
        let raised = x.binary(BinaryOp::Add, literal(self.bias));
        below.select(raised, above.select(lowered, literal(0.0))).cast(real, element)
    }
}
