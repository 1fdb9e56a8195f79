//! `IsInf`: whether an element is infinite.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::elementwise::{ElementWise, floating, operands, widened};
use crate::ops::{Attribute, AttributeError, AttributeReader, FLOAT8, InferError, NEWEST_OPSET};
use crate::types::ElementType;

/// Whether the element is an infinity of a sign that counts, element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsInf {
    positive: bool,
    negative: bool,
}

impl ElementWise for IsInf {
    const NAME: &'static str = "IsInf";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const STORAGE: &'static [ElementType] = FLOAT8;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut flag = |name| Ok(attributes.flag(name)?.unwrap_or(true));
        Ok(Self { positive: flag("detect_positive")?, negative: flag("detect_negative")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        [("detect_positive", self.positive), ("detect_negative", self.negative)]
            .map(|(name, flag)| (name, Attribute::Int(i64::from(flag))))
            .to_vec()
    }

    fn element(&self, input: ElementType) -> Result<ElementType, InferError> {
        floating(widened(input)).map(|_| ElementType::Bool)
    }

    fn body(&self, element: ElementType, inputs: Vec<Scalar>) -> Scalar {
        let wide = widened(element);
        let [x] = operands(inputs).map(|x: Scalar| x.cast(element, wide));
        let is = |value| x.clone().binary(BinaryOp::Equal, Scalar::literal(wide, value));
        match (self.positive, self.negative) {
            (true, true) => is(f64::INFINITY).binary(BinaryOp::Or, is(f64::NEG_INFINITY)),
            (true, false) => is(f64::INFINITY),
            (false, true) => is(f64::NEG_INFINITY),
            (false, false) => Scalar::literal(ElementType::Bool, 0.0),
        }
    }
}
