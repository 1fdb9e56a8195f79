//! `Unsqueeze`: with more dimensions of extent 1.

use std::ops::RangeInclusive;

use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The input with dimensions of extent 1 put in; the axes are places in the output. They are an attribute before opset
/// 13 and an input from then on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsqueeze {
    axes: Option<Vec<i64>>,
}

impl Operator for Unsqueeze {
    const NAME: &'static str = "Unsqueeze";
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
        let named = axes::given(self.axes.as_deref(), context, 1)?.ok_or(InferError::Missing(1))?;
        let rank = data.shape.len() + named.len();
        let dimensions = axes::dimensions(&named, rank)?;
        let mut extents = data.shape.iter().copied();
        let place = |at: usize| if dimensions.contains(&at) { Some(1) } else { extents.next() };
        let shape: Shape = (0..rank).filter_map(place).collect();
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
