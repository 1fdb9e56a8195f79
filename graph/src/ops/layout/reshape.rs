//! `Reshape`: the same elements under another shape.

use std::ops::RangeInclusive;

use crate::ops::{ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The first input's elements in order, under the shape that the second holds. There, −1 stands for what is left over,
/// and 0 for the input's extent at that place unless zeros are allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reshape {
    allow_zero: bool,
    /// The shape where it is no input, as before opset 5.
    shape: Option<Vec<i64>>,
}

impl Reshape {
    /// The reshape whose second input holds the output's extents as they are.
    pub fn exactly() -> Self {
        Self { allow_zero: true, shape: None }
    }
}

impl Operator for Reshape {
    const NAME: &'static str = "Reshape";
    const INPUTS: RangeInclusive<usize> = 1..=2;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let shape = attributes.ints("shape")?;
        Ok(Self { allow_zero: attributes.flag("allowzero")?.unwrap_or(false), shape })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let shape = self.shape.clone().map(|shape| ("shape", Attribute::Ints(shape)));
        [("allowzero", Attribute::Int(i64::from(self.allow_zero)))].into_iter().chain(shape).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let target = crate::ops::axes::given(self.shape.as_deref(), context, 1)?.ok_or(InferError::Missing(1))?;
        let mismatch = || InferError::Mismatch(format!("[{}] cannot be reshaped to {target:?}", data.shape));
        let mut extents = Vec::with_capacity(target.len());
        let mut open = None;
        for (place, &extent) in target.iter().enumerate() {
            extents.push(match extent {
                0 if !self.allow_zero => *data.shape.get(place).ok_or_else(mismatch)?,
                -1 if open.is_none() => {
                    open = Some(place);
                    1
                }
                _ => usize::try_from(extent).map_err(|_| mismatch())?,
            });
        }
        let elements = data.shape.checked_elements().ok_or_else(mismatch)?;
        if let Some(place) = open {
            let known =
                Shape::new(extents.clone()).checked_elements().filter(|&known| known > 0).ok_or_else(mismatch)?;
            extents[place] = elements / known;
        }
        let shape = Shape::new(extents);
        if shape.checked_elements() != Some(elements) {
            return Err(mismatch());
        }
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let moved = movement::kept_dimension(&context.accepted(0).shape, &self.output(context).shape, dimension)?;
        (input == 0).then_some(moved)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        vec![movement::reshape(program, data, &self.output(context).shape)]
    }
}
