//! `LinearRegressor` of the domain `ai.onnx.ml`: sums of weighted features.

use std::ops::RangeInclusive;

use super::DOMAIN;
use super::rows::{PostTransform, extents, weighted};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// `[rows, targets]` sums of the features of a row, weighted for each target, plus its intercept.
#[derive(Clone, PartialEq, Debug)]
pub struct LinearRegressor {
    coefficients: Vec<f32>,
    intercepts: Vec<f32>,
    targets: usize,
    transform: PostTransform,
}

impl Operator for LinearRegressor {
    const NAME: &'static str = "LinearRegressor";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "targets";
        let targets = attributes.int(name)?.unwrap_or(1);
        let reason = || format!("{targets} targets are not possible");
        let valid = usize::try_from(targets).ok().filter(|targets| (1..1 << 24).contains(targets));
        Ok(Self {
            coefficients: attributes.floats("coefficients")?.ok_or(AttributeError::Missing("coefficients"))?,
            intercepts: attributes.floats("intercepts")?.unwrap_or_default(),
            targets: valid.ok_or_else(|| AttributeError::Value { name, reason: reason() })?,
            transform: PostTransform::from_attributes(attributes)?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("coefficients", Attribute::Floats(self.coefficients.clone())),
            ("intercepts", Attribute::Floats(self.intercepts.clone())),
            ("targets", Attribute::Int(self.targets as i64)),
            self.transform.attribute(),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let [rows, features] = extents(context)?;
        let fits = features.checked_mul(self.targets) == Some(self.coefficients.len());
        if !fits || !(self.intercepts.is_empty() || self.intercepts.len() == self.targets) {
            return Err(InferError::Mismatch(format!(
                "{} coefficients and {} intercepts do not go with {features} features and {} targets",
                self.coefficients.len(),
                self.intercepts.len(),
                self.targets
            )));
        }
        Ok(vec![TensorType::new(ElementType::F32, [rows, self.targets]).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let input = inputs[0].expect("inference found the input");
        let sums = weighted(context, input, program, &self.coefficients, &self.intercepts, self.targets);
        vec![self.transform.lower(program, sums)]
    }
}
