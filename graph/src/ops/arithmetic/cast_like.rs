//! `CastLike`: conversion to the element type of another tensor.

use std::ops::RangeInclusive;

use crate::expr::Scalar;
use crate::ops::conversion::Conversion;
use crate::ops::{
    ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, broadcast,
    elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Every element of the first input converted to the type of the second's, as [`crate::ops::cast::Cast`] does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CastLike {
    conversion: Conversion,
}

impl Operator for CastLike {
    const NAME: &'static str = "CastLike";
    const OPSETS: RangeInclusive<i64> = 15..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { conversion: Conversion::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.conversion.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let shape = context.tensor(0)?.shape.clone();
        Ok(vec![TensorType { element: context.tensor(1)?.element, shape }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (from, to) = (context.accepted(0).element, context.accepted(1).element);
        let input = inputs[0].expect("inference found the input");
        if from == to {
            return vec![input];
        }
        let body = |reads| {
            let [x]: [Scalar; 1] = elementwise::operands(reads);
            self.conversion.apply(from, to, x)
        };
        vec![broadcast::map(&[Some(input)], program, to, body)]
    }
}
