//! `Upsample`: what `Resize` was before opset 10.

use std::ops::RangeInclusive;

use crate::ops::interpolation::{Interpolation, Nearest};
use crate::ops::resize::Resize;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::ValueType;

/// The input with more elements along some dimensions: the nearest before each place, or an interpolation. The scales are
/// an attribute before opset 9 and an input from then on; before opset 7
/// those of rows and columns are two.
#[derive(Clone, PartialEq, Debug)]
pub struct Upsample {
    linear: bool,
    scales: Option<Vec<f32>>,
}

impl Upsample {
    fn resize(&self) -> Resize {
        Resize::by_scales(if self.linear { Interpolation::Linear } else { Interpolation::Nearest(Nearest::Simple) })
    }

    /// The data and the scales, which an attribute or an input holds.
    fn facts(&self, context: &Context) -> Result<[Option<Fact>; 2], InferError> {
        let scales = match &self.scales {
            Some(scales) => {
                let value = Tensor::new([scales.len()], scales);
                Fact { ty: value.ty().clone().into(), value: Some(value) }
            }
            None => context.fact(1).cloned().ok_or(InferError::Missing(1))?,
        };
        Ok([context.fact(0).cloned(), Some(scales)])
    }
}

impl Operator for Upsample {
    const NAME: &'static str = "Upsample";
    const INPUTS: RangeInclusive<usize> = 1..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let linear = match attributes.string("mode")?.as_deref() {
            None | Some("nearest") => false,
            Some("linear" | "bilinear") => true,
            Some(other) => {
                return Err(AttributeError::Value { name: "mode", reason: format!("`{other}` is not supported") });
            }
        };
        if attributes.opset() >= 7 {
            return Ok(Self { linear, scales: attributes.floats("scales")? });
        }
        let mut scale = |name: &'static str| attributes.float(name)?.ok_or(AttributeError::Missing(name));
        let scales = vec![1.0, 1.0, scale("height_scale")?, scale("width_scale")?];
        Ok(Self { linear, scales: Some(scales) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mode = if self.linear { "linear" } else { "nearest" };
        let scales = self.scales.clone().map(|scales| ("scales", Attribute::Floats(scales)));
        [("mode", Attribute::String(mode.to_owned()))].into_iter().chain(scales).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        self.resize().infer(&Context::new(&self.facts(context)?, 1))
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let facts = self.facts(context).expect("inference found the scales");
        self.resize().lower(&Context::new(&facts, 1), &inputs[..1], program)
    }
}
