//! `Scatter`: the older name of `ScatterElements`.

use std::ops::RangeInclusive;

use crate::ops::scatter_elements::ScatterElements;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// `ScatterElements`, of which the last update replaces what is there. ONNX deprecates it since opset 11; models still have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scatter {
    axis: i64,
}

impl Operator for Scatter {
    const NAME: &'static str = "Scatter";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 3..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axis: attributes.int("axis")?.unwrap_or(0) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("axis", Attribute::Int(self.axis))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        ScatterElements::replacing(self.axis).infer(context)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        ScatterElements::replacing(self.axis).lower(context, inputs, program)
    }
}
