//! `Shape`: the extents of the input.

use std::ops::RangeInclusive;

use crate::ops::{ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// The extents `start..end` of the input, as 64-bit integers; both ends may count from the back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    start: i64,
    end: Option<i64>,
}

impl Shape {
    fn extents<'a>(&self, context: &Context<'a>) -> Result<&'a [usize], InferError> {
        let shape = &context.tensor(0)?.shape;
        let rank = shape.len() as i64;
        let place = |at: i64| if at < 0 { at.saturating_add(rank).max(0) } else { at.min(rank) } as usize;
        let (start, end) = (place(self.start), self.end.map_or(shape.len(), place));
        Ok(shape.get(start..end).unwrap_or(&[]))
    }
}

impl Operator for Shape {
    const NAME: &'static str = "Shape";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { start: attributes.int("start")?.unwrap_or(0), end: attributes.int("end")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let end = self.end.map(|end| ("end", Attribute::Int(end)));
        [("start", Attribute::Int(self.start))].into_iter().chain(end).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let count = self.extents(context)?.len();
        Ok(vec![TensorType::new(ElementType::I64, [count]).into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the input");
        let extents: Vec<i64> = extents.iter().map(|&extent| extent as i64).collect();
        vec![program.constant(Tensor::vector_i64(&extents))]
    }
}
