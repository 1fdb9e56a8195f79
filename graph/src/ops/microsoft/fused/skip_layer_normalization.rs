//! `com.microsoft.SkipLayerNormalization`: normalisation of a sum.

use std::ops::RangeInclusive;

use crate::ops::add::Add;
use crate::ops::layer_normalization::LayerNormalization;
use crate::ops::microsoft::DOMAIN;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The layer normalisation, along the last dimension, of input plus skip plus the optional bias. The inputs are input, skip,
/// gamma, beta and bias; mean, reciprocal deviation and the sum are optional outputs.
#[derive(Clone, PartialEq, Debug)]
pub struct SkipLayerNormalization {
    epsilon: f32,
}

/// The positions of what is added to the first input.
const ADDENDS: [usize; 2] = [1, 4];

/// The type of the sum of the first input and the optional others, which broadcast to it.
pub(super) fn sum(context: &Context, addends: &[usize]) -> Result<TensorType, InferError> {
    let data = context.tensor(0)?;
    for &input in addends {
        let Some(addend) = context.optional(input)? else { continue };
        let fits = broadcast::shapes(&addend.shape, &data.shape).as_ref() == Ok(&data.shape);
        if addend.element != data.element || !fits {
            return Err(InferError::Mismatch(format!("{addend} does not broadcast to {data}")));
        }
    }
    Ok(data.clone())
}

/// The dimension of the outputs where a dimension of the first two inputs is, but the last one.
pub(super) fn row(context: &Context, input: usize, dimension: usize) -> Option<usize> {
    let rank = |input: usize| context.accepted(input).shape.len();
    let place = dimension + rank(0) - rank(input);
    (input < 2 && place + 1 < rank(0)).then_some(place)
}

/// Appends the sum.
pub(super) fn lower_sum(inputs: &[Option<TensorId>], addends: &[usize], program: &mut ProgramBuilder) -> TensorId {
    let data = inputs[0].expect("inference found the input");
    let addends = addends.iter().filter_map(|&input| inputs.get(input).copied().flatten());
    addends.fold(data, |sum, addend| program.apply(&Add, &[Some(sum), Some(addend)], 1)[0])
}

impl Operator for SkipLayerNormalization {
    const NAME: &'static str = "SkipLayerNormalization";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 3..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { epsilon: attributes.float("epsilon")?.unwrap_or(1e-12) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("epsilon", Attribute::Float(self.epsilon))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        context.tensor(1)?;
        let sum = sum(context, &ADDENDS)?;
        let facts =
            [Some(Fact { ty: sum.clone().into(), value: None }), context.fact(2).cloned(), context.fact(3).cloned()];
        let mut types = LayerNormalization::along_last(self.epsilon).infer(&Context::new(&facts, 3))?;
        types.push(sum.into());
        Ok(types)
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        row(context, input, dimension)
    }

    fn lower(&self, _: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let sum = lower_sum(inputs, &ADDENDS, program);
        let scale_and_bias = [inputs[2], inputs.get(3).copied().flatten()];
        let operands = [Some(sum)].into_iter().chain(scale_and_bias).collect::<Vec<_>>();
        let mut outputs = program.apply(&LayerNormalization::along_last(self.epsilon), &operands, 3);
        outputs.push(sum);
        outputs
    }
}
