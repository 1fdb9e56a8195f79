//! `Hardmax`: one where the largest element stands.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::exponential::Normalizer;
use crate::ops::extreme_place::ExtremePlace;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, ValueType};

/// 1 where the first largest element along the axis stands, 0 elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hardmax {
    normalizer: Normalizer,
}

impl Operator for Hardmax {
    const NAME: &'static str = "Hardmax";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { normalizer: Normalizer::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.normalizer.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = self.normalizer.infer(context)?;
        let dimensions = self.normalizer.dimensions(data.shape.len())?;
        if dimensions.iter().any(|&dimension| data.shape[dimension] == 0) {
            return Err(InferError::Mismatch(format!("{data} has no element along the axis")));
        }
        Ok(vec![data.into()])
    }

    fn follows(&self, context: &Context, _: usize, dimension: usize) -> Option<usize> {
        self.normalizer.follows(context, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let dimensions = self.normalizer.dimensions(data.shape.len()).expect("inference accepted the axis");
        // Dimensions that are combined follow one another.
        let (first, last) = (dimensions[0], dimensions[dimensions.len() - 1]);
        let group = |range: std::ops::Range<usize>| data.shape[range].iter().product::<usize>();
        let flat: Shape = [group(0..first), group(first..last + 1), group(last + 1..data.shape.len())].into();
        let rows = movement::reshape(program, inputs[0].expect("inference found the input"), &flat);
        let facts = program.facts(&[Some(rows)]);
        let place = ExtremePlace::first_along(1);
        let place = place.lower(&Context::new(&facts, 1), rows, program, Reducer::Maximum);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&flat);
        let operand = expr.operand(program.ty(place));
        let found = expr.broadcast_read(operand, &axes);
        let own = Scalar::Index(Index::axis(axes[1]), ElementType::I64);
        let [one, zero] = [1.0, 0.0].map(|value| Scalar::literal(data.element, value));
        let body = own.binary(BinaryOp::Equal, found).select(one, zero);
        let marked = program.compute(expr.map(data.element, body), &[place]);
        vec![movement::reshape(program, marked, &data.shape)]
    }
}
