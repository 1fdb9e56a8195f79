//! `Binarizer` of the domain `ai.onnx.ml`: whether elements exceed a threshold.

use super::DOMAIN;
use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, number, operands};
use crate::ops::{Attribute, AttributeError, AttributeReader, InferError};
use crate::types::ElementType;

/// 1 where an element exceeds the threshold, else 0; of the element's type.
#[derive(Clone, PartialEq, Debug)]
pub struct Binarizer {
    threshold: f32,
}

impl ElementWise for Binarizer {
    const NAME: &'static str = "Binarizer";
    const DOMAIN: &'static str = DOMAIN;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { threshold: attributes.float("threshold")?.unwrap_or(0.0) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("threshold", Attribute::Float(self.threshold))]
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        number(input)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let [x] = operands(inputs);
        // An integer exceeds a bound as it exceeds the largest integer that is not above the bound.
        let bound = if element.is_float() { f64::from(self.threshold) } else { f64::from(self.threshold).floor() };
        let above = Scalar::literal(element, bound).binary(BinaryOp::Less, x);
        above.select(Scalar::literal(element, 1.0), Scalar::literal(element, 0.0))
    }
}
