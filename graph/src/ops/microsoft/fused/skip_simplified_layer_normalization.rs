//! `com.microsoft.SkipSimplifiedLayerNormalization`: scaling of a sum by its root mean square.

use std::ops::RangeInclusive;

use super::skip_layer_normalization::{lower_sum, row, sum};
use crate::expr::{BinaryOp, Scalar};
use crate::ops::microsoft::DOMAIN;
use crate::ops::normalization::{moments, precision};
use crate::ops::rms_normalization::RmsNormalization;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// Input plus skip plus the optional bias, divided by the root of the mean of its squares along the last dimension, times
/// gamma. The inputs are input, skip, gamma and bias; mean, reciprocal root and the sum are optional outputs.
#[derive(Clone, PartialEq, Debug)]
pub struct SkipSimplifiedLayerNormalization {
    epsilon: f32,
}

/// The positions of what is added to the first input.
const ADDENDS: [usize; 2] = [1, 3];

impl Operator for SkipSimplifiedLayerNormalization {
    const NAME: &'static str = "SkipSimplifiedLayerNormalization";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 3..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { epsilon: attributes.float("epsilon")?.unwrap_or(1e-12) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("epsilon", Attribute::Float(self.epsilon))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        context.tensor(1)?;
        let sum = sum(context, &ADDENDS)?;
        let facts = [Some(Fact { ty: sum.clone().into(), value: None }), context.fact(2).cloned()];
        let mut types = RmsNormalization::along_last(self.epsilon).infer(&Context::new(&facts, 1))?;
        let rank = sum.shape.len();
        let extents = sum.shape.iter().enumerate().map(|(at, &extent)| if at + 1 < rank { extent } else { 1 });
        let statistics = TensorType { element: precision(sum.element), shape: extents.collect() };
        types.extend([statistics.clone().into(), statistics.into(), sum.into()]);
        Ok(types)
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        row(context, input, dimension)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let sum = lower_sum(inputs, &ADDENDS, program);
        let operands = [Some(sum), inputs[2]];
        let facts = program.facts(&operands);
        let normalization = RmsNormalization::along_last(self.epsilon);
        let [scaled, root] = normalization.scaled_and_root(&Context::new(&facts, 1), &operands, program);
        let element = program.ty(root).element;
        let inverse = broadcast::map(&[Some(root)], program, element, |mut root| {
            Scalar::literal(element, 1.0).binary(BinaryOp::Divide, root.remove(0))
        });
        let last = program.ty(sum).shape.len() - 1;
        vec![scaled, moments(program, sum, &[last]).mean, inverse, sum]
    }
}
