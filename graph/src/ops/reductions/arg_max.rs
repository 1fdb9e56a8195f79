//! `ArgMax`: where the largest element stands.

use std::ops::RangeInclusive;

use crate::expr::Reducer;
use crate::ops::extreme_place::ExtremePlace;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The place of the largest element along an axis; of several the first, or the last if that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgMax {
    place: ExtremePlace,
}

impl ArgMax {
    /// The first place along a dimension, which keeps an extent of 1.
    pub fn first_along(dimension: usize) -> Self {
        Self { place: ExtremePlace::first_along(dimension) }
    }
}

impl Operator for ArgMax {
    const NAME: &'static str = "ArgMax";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { place: ExtremePlace::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.place.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![self.place.infer(context)?.into()])
    }

    fn follows(&self, context: &Context, _: usize, dimension: usize) -> Option<usize> {
        self.place.follows(context, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        vec![self.place.lower(context, data, program, Reducer::Maximum)]
    }
}
