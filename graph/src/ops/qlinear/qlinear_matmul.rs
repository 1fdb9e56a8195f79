//! `QLinearMatMul`: the matrix product of quantised tensors.

use std::ops::RangeInclusive;

use super::integer::{requantize, result_element, scale};
use crate::ops::matmul_integer::MatMulInteger;
use crate::ops::{AttributeError, AttributeReader, Context, Fact, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// NumPy's matrix product of the operands less their zero points, in 32 bits, requantised. The inputs are a, its
/// scale and zero point, of which there is one or one a row, then b with one or one a column. Then come the scale and
/// the zero point of y.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QLinearMatMul;

/// The operands and their zero points, as the integers' product has them.
const FACTORS: [usize; 4] = [0, 3, 2, 5];

/// The type of the sums, and the shapes with which the three scales broadcast to it.
fn parts(context: &Context) -> Result<(TensorType, [Shape; 3]), InferError> {
    let facts: Vec<Option<Fact>> = FACTORS.iter().map(|&input| context.fact(input).cloned()).collect();
    let types = MatMulInteger.infer(&Context::new(&facts, 1))?;
    let sums = types.first().and_then(ValueType::as_tensor).cloned().ok_or(InferError::NotTensor(0))?;
    let (left, right) = (&context.tensor(0)?.shape, &context.tensor(3)?.shape);
    let rows = if left.len() < 2 { 1 } else { left[left.len() - 2] };
    let columns = if right.len() < 2 { 1 } else { right[right.len() - 1] };
    // A column stands last in the sums, and a row before it where there are columns.
    let of_rows = if right.len() < 2 { Shape::from([rows]) } else { Shape::from([rows, 1]) };
    let rows = scale(context, 1, (rows, of_rows))?;
    let columns = scale(context, 4, (columns, Shape::from([columns])))?;
    Ok((sums, [rows, columns, scale(context, 6, (1, Shape::scalar()))?]))
}

impl Operator for QLinearMatMul {
    const NAME: &'static str = "QLinearMatMul";
    const OPSETS: RangeInclusive<i64> = 10..=crate::ops::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 8..=8;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (sums, _) = parts(context)?;
        Ok(vec![TensorType { element: result_element(context, 7)?, shape: sums.shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let [own, other] = [0, 3].map(|input| context.accepted(input).shape.len());
        let is_row = input == 0 && dimension + 1 < own && other <= 2;
        is_row.then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (_, [a, b, c]) = parts(context).expect("inference accepted the inputs");
        let factors: Vec<Option<TensorId>> = FACTORS.iter().map(|&input| inputs[input]).collect();
        let sums = program.apply(&MatMulInteger, &factors, 1)[0];
        let scale = |input: usize, shape| (inputs[input].expect("inference found the scale"), shape);
        let element = self.output(context).element;
        vec![requantize(program, sums, [scale(1, a), scale(4, b), scale(6, c)], (element, inputs[7]))]
    }
}
