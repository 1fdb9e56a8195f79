//! `NonZero`: where elements are not zero.

use std::ops::RangeInclusive;

use crate::counted::CountedOutput;
use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::compaction::{self, Marked};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, compose, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The coordinates of the elements that are not zero, a column each, in row-major order; as many columns count as a second
/// output says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NonZero;

impl Operator for NonZero {
    const NAME: &'static str = "NonZero";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn counted(&self, _: &Context) -> Vec<CountedOutput> {
        vec![CountedOutput { output: 0, dimension: 1, count: 1 }]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        if data.shape.is_empty() {
            return Err(InferError::Unsupported("a scalar has no coordinates".to_owned()));
        }
        let elements = compaction::accept(data.shape.checked_elements(), data)?;
        let coordinates = TensorType::new(ElementType::I64, [data.shape.len(), elements]);
        Ok(vec![coordinates.into(), TensorType::new(ElementType::I64, []).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let elements = data.shape.elements();
        let flat = movement::reshape(program, inputs[0].expect("inference found the input"), &[elements].into());
        let marks = compose::map(program, [flat], ElementType::Bool, |[x]| x.cast(data.element, ElementType::Bool));
        let Marked { places, count } = compaction::marked(program, marks);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[data.shape.len(), elements]);
        let operand = expr.operand(program.ty(places));
        let place = expr.read(operand, vec![Index::axis(axes[1])]);
        let row = Scalar::Index(Index::axis(axes[0]), ElementType::I64);
        let coordinates = data.shape.strides().into_iter().zip(data.shape.iter()).enumerate();
        let body = coordinates.fold(Scalar::literal(ElementType::I64, 0.0), |others, (at, (stride, &extent))| {
            let own = row.clone().binary(BinaryOp::Equal, Scalar::literal(ElementType::I64, at as f64));
            own.select(compaction::coordinate(place.clone(), stride, extent), others)
        });
        vec![program.compute(expr.map(ElementType::I64, body), &[places]), count]
    }
}
