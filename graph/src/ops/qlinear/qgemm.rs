//! `com.microsoft.QGemm`: the matrix product of quantised matrices.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Scalar};
use crate::ops::matmul_integer::MatMulInteger;
use crate::ops::microsoft::DOMAIN;
use crate::ops::qlinear::tensor::Parameters;
use crate::ops::quantization::quantized;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, Fact, InferError, Operator, broadcast, compose, elementwise,
    movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The product of two matrices, maybe transposed, less their zero points, in 32 bits, plus an optional addend of 32
/// bits. The result is this times a factor and both scales, as singles or requantised. The inputs are a, its scale
/// and zero point, then b, its scales and zero points, of which there is one or one a column. Then come the addend, and
/// the scale and the zero point of y.
#[derive(Clone, PartialEq, Debug)]
pub struct QGemm {
    alpha: f32,
    transposed: [bool; 2],
}

const ADDEND: usize = 6;
const SCALE: usize = 7;
const RESULT: Parameters = Parameters::at(SCALE);

impl QGemm {
    /// The type of the sums.
    fn sums(&self, context: &Context) -> Result<TensorType, InferError> {
        let turned = |input: usize, transposed: bool| {
            let ty = context.tensor(input)?;
            quantized(ty.element)?;
            match ty.shape[..] {
                [rows, columns] => {
                    let shape = if transposed { [columns, rows] } else { [rows, columns] };
                    Ok(Some(Fact { ty: TensorType::new(ty.element, shape).into(), value: None }))
                }
                _ => Err(InferError::Mismatch(format!("{ty} is no matrix"))),
            }
        };
        let (left, right) = (turned(0, self.transposed[0])?, turned(3, self.transposed[1])?);
        let facts = [left, right, context.fact(2).cloned(), context.fact(5).cloned()];
        let types = MatMulInteger.infer(&Context::new(&facts, 1))?;
        let sums = types.first().and_then(ValueType::as_tensor).cloned().ok_or(InferError::NotTensor(0))?;
        let columns = sums.shape[1];
        let (one, scales) = (context.tensor(1)?, context.tensor(4)?);
        let counts = [one.shape.checked_elements(), scales.shape.checked_elements()];
        let singles = one.element == ElementType::F32 && scales.element == ElementType::F32;
        if !singles || counts[0] != Some(1) || !(counts[1] == Some(1) || counts[1] == Some(columns)) {
            return Err(InferError::Mismatch(format!("scales of {one} and {scales} do not go with {sums}")));
        }
        match context.optional(ADDEND)? {
            Some(ty)
                if ty.element != ElementType::I32
                    || broadcast::shapes(&ty.shape, &sums.shape).as_ref() != Ok(&sums.shape) =>
            {
                Err(InferError::Mismatch(format!("an addend of {ty} does not go with {sums}")))
            }
            Some(_) | None => Ok(sums),
        }
    }
}

impl Operator for QGemm {
    const NAME: &'static str = "QGemm";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 6..=9;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let alpha = attributes.float("alpha")?.unwrap_or(1.0);
        let left = attributes.flag("transA")?.unwrap_or(false);
        Ok(Self { alpha, transposed: [left, attributes.flag("transB")?.unwrap_or(false)] })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let [left, right] = self.transposed.map(|transposed| Attribute::Int(i64::from(transposed)));
        vec![("alpha", Attribute::Float(self.alpha)), ("transA", left), ("transB", right)]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let sums = self.sums(context)?;
        let element = match context.optional(SCALE)? {
            None => ElementType::F32,
            Some(_) => {
                let zero = context.tensor(SCALE + 1)?.element;
                RESULT.check(context, quantized(zero)?)?;
                zero
            }
        };
        Ok(vec![TensorType { element, shape: sums.shape }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        let row = usize::from(self.transposed[0]);
        (input == 0 && dimension == row).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let input = |at: usize| inputs.get(at).copied().flatten();
        let [left, right] = [(0, self.transposed[0]), (3, self.transposed[1])].map(|(at, transposed)| {
            let matrix = input(at).expect("inference found the matrices");
            movement::transpose(program, matrix, if transposed { &[1, 0] } else { &[0, 1] })
        });
        let mut sums = program.apply(&MatMulInteger, &[Some(left), Some(right), input(2), input(5)], 1)[0];
        if let Some(addend) = input(ADDEND) {
            sums = compose::map(program, [sums, addend], ElementType::I32, |[sum, addend]| {
                sum.binary(BinaryOp::Add, addend)
            });
        }
        let [one, scales] = [1, 4].map(|at| {
            let scale = input(at).expect("inference found the scales");
            let count = program.ty(scale).shape.elements();
            let shape = if count == 1 { Shape::scalar() } else { [count].into() };
            movement::reshape(program, scale, &shape)
        });
        let real = broadcast::map(&[Some(sums), Some(one), Some(scales)], program, ElementType::F32, |operands| {
            let [sum, one, scale]: [Scalar; 3] = elementwise::operands(operands);
            let factor = one.binary(BinaryOp::Multiply, scale);
            let factor = match self.alpha {
                1.0 => factor,
                alpha => factor.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, f64::from(alpha))),
            };
            sum.cast(ElementType::I32, ElementType::F32).binary(BinaryOp::Multiply, factor)
        });
        match self.output(context).element {
            ElementType::F32 => vec![real],
            element => vec![RESULT.quantize(program, inputs, real, element)],
        }
    }
}
