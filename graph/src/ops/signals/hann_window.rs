//! `HannWindow`: a raised cosine.

use std::ops::RangeInclusive;

use crate::ops::cosine_window::CosineWindow;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// 0.5 − 0.5 cos(2πn / N).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HannWindow {
    window: CosineWindow,
}

impl Operator for HannWindow {
    const NAME: &'static str = "HannWindow";
    const OPSETS: RangeInclusive<i64> = 17..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { window: CosineWindow::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.window.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![self.window.infer(context)?.into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        vec![self.window.lower(context, program, &[0.5, -0.5])]
    }
}
