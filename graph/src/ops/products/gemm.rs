//! `Gemm`: α·A·B + β·C.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, broadcast, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// `alpha · A · B + beta · C`, where A and B are matrices that may be transposed and C broadcasts to the product.
#[derive(Clone, PartialEq, Debug)]
pub struct Gemm {
    alpha: f32,
    beta: f32,
    transpose_left: bool,
    transpose_right: bool,
}

impl Gemm {
    /// Rows, inner extent and columns.
    fn extents(&self, context: &Context) -> Result<[usize; 3], InferError> {
        let (left, right) = (context.tensor(0)?, context.tensor(1)?);
        let mismatch = || InferError::Mismatch(format!("{left} and {right} have no product"));
        let matrix = |shape: &Shape, transposed: bool| match shape[..] {
            [rows, columns] if transposed => Ok([columns, rows]),
            [rows, columns] => Ok([rows, columns]),
            _ => Err(mismatch()),
        };
        let [rows, inner] = matrix(&left.shape, self.transpose_left)?;
        let [right_inner, columns] = matrix(&right.shape, self.transpose_right)?;
        if inner != right_inner || left.element != right.element {
            return Err(mismatch());
        }
        Ok([rows, inner, columns])
    }
}

impl Operator for Gemm {
    const NAME: &'static str = "Gemm";
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        if attributes.opset() < 7 {
            // Before opset 7 the attribute says whether the bias may broadcast, by the rule that later always holds.
            attributes.int("broadcast")?;
        }
        Ok(Self {
            alpha: attributes.float("alpha")?.unwrap_or(1.0),
            beta: attributes.float("beta")?.unwrap_or(1.0),
            transpose_left: attributes.int("transA")?.unwrap_or(0) != 0,
            transpose_right: attributes.int("transB")?.unwrap_or(0) != 0,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("alpha", Attribute::Float(self.alpha)),
            ("beta", Attribute::Float(self.beta)),
            ("transA", Attribute::Int(i64::from(self.transpose_left))),
            ("transB", Attribute::Int(i64::from(self.transpose_right))),
        ]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let [rows, _, columns] = self.extents(context)?;
        let product = TensorType::new(elementwise::number(context.tensor(0)?.element)?, [rows, columns]);
        if let Some(addend) = context.optional(2)? {
            let fits = addend.element == product.element
                && broadcast::shapes(&addend.shape, &product.shape).as_ref() == Ok(&product.shape);
            if !fits {
                return Err(InferError::Mismatch(format!("{addend} does not broadcast to {product}")));
            }
        }
        Ok(vec![product.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        // Rows of the left factor, columns of the right one, and what is added.
        match (input, dimension) {
            (0, own) => (own == usize::from(self.transpose_left)).then_some(0),
            (1, own) => (own == usize::from(!self.transpose_right)).then_some(1),
            (_, own) => Some(own + 2 - context.accepted(input).shape.len()),
        }
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let [rows, inner, columns] = self.extents(context).expect("inference accepted the shapes");
        let element = context.accepted(0).element;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[rows, columns]);
        let inner = expr.reduced(inner);
        let index = |row, column, transposed: bool| {
            let index = [Index::axis(row), Index::axis(column)];
            if transposed { index.into_iter().rev().collect() } else { Vec::from(index) }
        };
        let left = expr.operand(context.accepted(0));
        let right = expr.operand(context.accepted(1));
        let a = expr.read(left, index(axes[0], inner, self.transpose_left));
        let b = expr.read(right, index(inner, axes[1], self.transpose_right));
        let scaled = |scalar: Scalar, factor: f32| match factor {
            1.0 => scalar,
            _ => scalar.binary(BinaryOp::Multiply, Scalar::literal(element, f64::from(factor))),
        };
        let mut result = scaled(Scalar::Reduced, self.alpha);
        let mut operands: Vec<TensorId> = inputs.iter().take(2).flatten().copied().collect();
        if let (Some(&Some(addend)), true) = (inputs.get(2), self.beta != 0.0) {
            let operand = expr.operand(context.accepted(2));
            let addend_read = expr.broadcast_read(operand, &axes);
            result = result.binary(BinaryOp::Add, scaled(addend_read, self.beta));
            operands.push(addend);
        }
        let epilogue = (result != Scalar::Reduced).then_some(result);
        let expr = expr.reduce(element, Reducer::Sum, a.binary(BinaryOp::Multiply, b), epilogue);
        vec![program.compute(expr, &operands)]
    }
}
