//! `ConstantOfShape`: one value everywhere.

use std::ops::RangeInclusive;

use crate::expr::ExprBuilder;
use crate::ops::{ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// A tensor of the shape that the input holds, every element the same.
#[derive(Clone, PartialEq, Debug)]
pub struct ConstantOfShape {
    value: Tensor,
}

impl Operator for ConstantOfShape {
    const NAME: &'static str = "ConstantOfShape";
    const OPSETS: RangeInclusive<i64> = 9..=crate::ops::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let value = attributes.tensor("value")?.unwrap_or_else(|| Tensor::new([1], &[0f32]));
        if value.shape().checked_elements() != Some(1) {
            return Err(AttributeError::Value { name: "value", reason: format!("{} is not one element", value.ty()) });
        }
        Ok(Self { value })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("value", Attribute::Tensor(self.value.clone()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = context.integers(0)?.ok_or(InferError::Missing(0))?;
        let extent = |&extent: &i64| usize::try_from(extent);
        let shape = extents.iter().map(extent).collect::<Result<Shape, _>>();
        let shape = shape.map_err(|_| InferError::Mismatch("an extent is negative".to_owned()))?;
        Ok(vec![TensorType { element: self.value.element(), shape }.into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let mut expr = ExprBuilder::new();
        expr.parallels(&self.output(context).shape);
        vec![program.compute(expr.map(self.value.element(), elementwise::constant(&self.value)), &[])]
    }
}
