//! `Squeeze`: without dimensions of extent 1.

use std::ops::RangeInclusive;

use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The input without the named dimensions, all of extent 1; without all such if none are named. The axes are an
/// attribute before opset 13 and an input from then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Squeeze {
    axes: Option<Vec<i64>>,
}

impl Operator for Squeeze {
    const NAME: &'static str = "Squeeze";
    const INPUTS: RangeInclusive<usize> = 1..=2;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axes: attributes.ints("axes")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.axes.clone().map(|axes| ("axes", Attribute::Ints(axes))).into_iter().collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        let extents = data.shape.iter().copied().enumerate();
        let shape: Shape = match axes::given(self.axes.as_deref(), context, 1)? {
            None => extents.filter(|(_, extent)| *extent != 1).map(|(_, extent)| extent).collect(),
            Some(named) => {
                let dimensions = axes::dimensions(&named, data.shape.len())?;
                if let Some(&dimension) = dimensions.iter().find(|&&dimension| data.shape[dimension] != 1) {
                    return Err(InferError::Mismatch(format!("dimension {dimension} of {data} is not 1")));
                }
                extents.filter(|(at, _)| !dimensions.contains(at)).map(|(_, extent)| extent).collect()
            }
        };
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
