//! `QLinearConv`: the convolution of quantised tensors.

use std::ops::RangeInclusive;

use super::integer::{requantize, result_element, scale};
use crate::ops::add::Add;
use crate::ops::conv_integer::ConvInteger;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The convolution of data and weight less their zero points, in 32 bits, plus the optional bias, requantised. The
/// inputs are x, its scale and zero point, then w, its scales and zero points, of which there is one or one an output
/// channel. Then come the scale and the zero point of y, and the bias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QLinearConv {
    convolution: ConvInteger,
}

/// Data, weight and their zero points, as the integers' convolution has them.
const FACTORS: [usize; 4] = [0, 3, 2, 5];

impl QLinearConv {
    /// The type of the sums, and the shapes with which the three scales broadcast to it.
    fn parts(&self, context: &Context) -> Result<(TensorType, [Shape; 3]), InferError> {
        let facts: Vec<Option<Fact>> = FACTORS.iter().map(|&input| context.fact(input).cloned()).collect();
        let types = self.convolution.infer(&Context::new(&facts, 1))?;
        let sums = types.first().and_then(ValueType::as_tensor).cloned().ok_or(InferError::NotTensor(0))?;
        let channels = sums.shape[1];
        let along: Shape = (0..sums.shape.len()).map(|at| if at == 1 { channels } else { 1 }).collect();
        let scales = [scale(context, 1, (1, Shape::scalar()))?, scale(context, 4, (channels, along))?];
        let [left, right] = scales;
        if let Some(bias) = context.optional(8)?
            && (bias.element != ElementType::I32 || *bias.shape != [channels])
        {
            return Err(InferError::Mismatch(format!("a bias of {bias} does not go with {channels} channels")));
        }
        Ok((sums, [left, right, scale(context, 6, (1, Shape::scalar()))?]))
    }
}

impl Operator for QLinearConv {
    const NAME: &'static str = "QLinearConv";
    const OPSETS: RangeInclusive<i64> = 10..=crate::ops::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 8..=9;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { convolution: ConvInteger::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.convolution.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (sums, _) = self.parts(context)?;
        Ok(vec![TensorType { element: result_element(context, 7)?, shape: sums.shape }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (sums, shapes) = self.parts(context).expect("inference accepted the inputs");
        let factors: Vec<Option<TensorId>> = FACTORS.iter().map(|&input| inputs[input]).collect();
        let mut convolved = program.apply(&self.convolution, &factors, 1)[0];
        if let Some(bias) = inputs.get(8).copied().flatten() {
            let along: Shape = (0..sums.shape.len()).map(|at| if at == 1 { sums.shape[1] } else { 1 }).collect();
            let bias = movement::reshape(program, bias, &along);
            convolved = program.apply(&Add, &[Some(convolved), Some(bias)], 1)[0];
        }
        let [a, b, c] = shapes;
        let scale = |input: usize, shape| (inputs[input].expect("inference found the scale"), shape);
        let element = self.output(context).element;
        vec![requantize(program, convolved, [scale(1, a), scale(4, b), scale(6, c)], (element, inputs[7]))]
    }
}
