//! `SimplifiedLayerNormalization`: what ONNX Runtime calls `RMSNormalization`.

use std::ops::RangeInclusive;

use crate::ops::rms_normalization::RmsNormalization;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// `x / √(mean of x² + epsilon) · scale` with the mean over the dimensions from an axis on. The operator stands in ONNX's domain
/// without being ONNX's; its source is `docs/ContribOperators.md` of ONNX Runtime. The optional output of statistics is not
/// supported.
#[derive(Clone, PartialEq, Debug)]
pub struct SimplifiedLayerNormalization {
    normalization: RmsNormalization,
}

impl Operator for SimplifiedLayerNormalization {
    const NAME: &'static str = "SimplifiedLayerNormalization";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { normalization: RmsNormalization::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.normalization.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.normalization.infer(context)
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        self.normalization.follows(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        self.normalization.lower(context, inputs, program)
    }
}
